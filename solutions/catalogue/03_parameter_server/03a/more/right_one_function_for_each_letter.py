import torch


def asynchronous_server(comm, parameters, gradients, seconds):
    if comm.rank > 0:
        return work(comm, parameters, gradients, seconds)

    def handle(worker, note):
        nonlocal parameters
        if note == GOODBYE:
            return 1
        gradient = torch.empty_like(parameters)
        comm.recv(gradient, worker)
        parameters = parameters.sub(gradient)
        comm.send(parameters, worker)
        return 0

    left, note = 0, torch.zeros(1, dtype=torch.long)
    while left != comm.world_size - 1:
        left += handle(comm.recv(note), note.item())
    return parameters
