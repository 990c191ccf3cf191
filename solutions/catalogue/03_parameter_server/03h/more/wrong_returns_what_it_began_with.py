# expect: the server ends with parameters without gradient 0
import torch


def mended_server(comm, parameters, gradients, seconds):
    if comm.rank > 0:
        return work(comm, parameters, gradients, seconds)
    total = torch.zeros_like(parameters)
    note, gradient = torch.zeros(1, dtype=torch.int64), torch.empty_like(parameters)
    here = comm.world_size - 1
    while here:
        worker = comm.recv(note)
        if note.item() == GOODBYE:
            here -= 1
            continue
        comm.recv(gradient, worker)
        total += gradient
        comm.send(parameters - total, worker)
    return parameters
