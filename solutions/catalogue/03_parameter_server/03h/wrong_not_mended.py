import torch


def mended_server(comm, parameters, gradients, seconds):
    if comm.rank > 0:
        return work(comm, parameters, gradients, seconds)
    sent = {worker: parameters.clone() for worker in range(1, comm.world_size)}
    note, gradient = torch.zeros(1, dtype=torch.int64), torch.empty_like(parameters)
    here = comm.world_size - 1
    while here:
        worker = comm.recv(note)
        if note.item() == GOODBYE:
            here -= 1
            continue
        comm.recv(gradient, worker)
        parameters = sent[worker] - gradient
        sent[worker] = parameters
        comm.send(parameters, worker)
    return parameters
