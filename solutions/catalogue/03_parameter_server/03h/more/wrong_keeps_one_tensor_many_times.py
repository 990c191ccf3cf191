# expect: gradient 1 of rank 1 was subtracted 2 times
# like: wrong_applies_twice
import torch


def mended_server(comm, parameters, gradients, seconds):
    if comm.rank > 0:
        return work(comm, parameters, gradients, seconds)
    note, gradient = torch.zeros(1, dtype=torch.int64), torch.empty_like(parameters)
    here, seen = comm.world_size - 1, []
    while here:
        worker = comm.recv(note)
        if note.item() == GOODBYE:
            here -= 1
            continue
        comm.recv(gradient, worker)
        seen.append(gradient)
        comm.send(parameters - sum(seen), worker)
    return parameters - sum(seen) if seen else parameters
