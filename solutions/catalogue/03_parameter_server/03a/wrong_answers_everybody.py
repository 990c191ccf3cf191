import torch


def asynchronous_server(comm, parameters, gradients, seconds):
    if comm.rank > 0:
        return work(comm, parameters, gradients, seconds)
    note, gradient = torch.zeros(1, dtype=torch.int64), torch.empty_like(parameters)

    here = set(range(1, comm.world_size))
    while here:
        worker = comm.recv(note)
        if note.item() == GOODBYE:
            here.remove(worker)
        else:
            comm.recv(gradient, worker)
            parameters -= gradient
            for other in here:
                comm.send(parameters, other)
    return parameters
