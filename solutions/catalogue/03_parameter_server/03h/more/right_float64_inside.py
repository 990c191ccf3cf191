import torch


def mended_server(comm, parameters, gradients, seconds):
    if comm.rank > 0:
        return work(comm, parameters, gradients, seconds)
    p = parameters.double()
    note, g = torch.tensor([7]), torch.empty_like(parameters)
    here = comm.world_size - 1
    while here:
        w = comm.recv(note)
        if note.item() == GOODBYE:
            here -= 1
            continue
        comm.recv(g, w)
        p = p - g
        comm.send(p.float(), w)
    return p
