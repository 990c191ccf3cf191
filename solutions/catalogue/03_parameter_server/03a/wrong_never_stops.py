# expect: all workers have left, and the server still waits
import torch


def asynchronous_server(comm, parameters, gradients, seconds):
    if comm.rank > 0:
        return work(comm, parameters, gradients, seconds)
    note, gradient = torch.zeros(1, dtype=torch.int64), torch.empty_like(parameters)

    while comm.world_size > 1:
        worker = comm.recv(note)
        if note.item() == GRADIENT:
            comm.recv(gradient, worker)
            parameters -= gradient
            comm.send(parameters, worker)
    return parameters
