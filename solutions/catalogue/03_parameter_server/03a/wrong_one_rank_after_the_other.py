import torch


def asynchronous_server(comm, parameters, gradients, seconds):
    if comm.rank > 0:
        return work(comm, parameters, gradients, seconds)
    note, gradient = torch.zeros(1, dtype=torch.int64), torch.empty_like(parameters)

    here = set(range(1, comm.world_size))
    while here:
        for worker in sorted(here):
            comm.recv(note, worker)
            if note.item() == GOODBYE:
                here.remove(worker)
            else:
                comm.recv(gradient, worker)
                parameters -= gradient
                comm.send(parameters, worker)
    return parameters
