import torch


def mended_server(comm, parameters, gradients, seconds):
    if comm.rank > 0:
        return work(comm, parameters, gradients, seconds)
    note, log, here = torch.zeros(1, dtype=torch.int64), [], set(range(1, comm.world_size))
    while here:
        worker = comm.recv(note)
        if note.item() == GOODBYE:
            here.remove(worker)
            continue
        box = torch.empty_like(parameters)
        comm.recv(box, worker)
        log.append(box)
        comm.send(parameters - torch.stack(log).sum(0), worker)
    return parameters - torch.stack(log).sum(0) if log else parameters
