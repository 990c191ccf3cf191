import torch


def asynchronous_server(comm, parameters, gradients, seconds):
    if comm.rank > 0:
        return work(comm, parameters, gradients, seconds)
    note = torch.tensor([GRADIENT])
    letters, gone = [], 0
    while gone < comm.world_size - 1:
        sender = comm.recv(note)
        gone += int(note == GOODBYE)
        if note == GRADIENT:
            gradient = torch.zeros_like(parameters)
            comm.recv(gradient, sender)
            parameters.sub_(gradient)
            letters.append(comm.isend(parameters.clone(), sender))
    for letter in letters:
        letter.wait()
    return parameters
