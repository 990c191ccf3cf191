# expect: sent torch.float16 to rank 1; the messages of this exercise are
import torch


def asynchronous_server(comm, parameters, gradients, seconds):
    if comm.rank > 0:
        return work(comm, parameters, gradients, seconds)
    note, gradient = torch.zeros(1, dtype=torch.int64), torch.empty_like(parameters)
    here = comm.world_size - 1
    while here:
        worker = comm.recv(note)
        if note.item() == GOODBYE:
            here -= 1
            continue
        comm.recv(gradient, worker)
        parameters -= gradient
        comm.send(parameters.half(), worker)
    return parameters
