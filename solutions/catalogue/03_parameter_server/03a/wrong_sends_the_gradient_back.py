import torch


def asynchronous_server(comm, parameters, gradients, seconds):
    if comm.rank > 0:
        return work_and_compare(comm, parameters, gradients, seconds)
    note, gradient, here = torch.zeros(1, dtype=torch.int64), torch.empty_like(parameters), comm.world_size - 1
    while here:
        worker = comm.recv(note)
        if note.item() == GOODBYE:
            here -= 1
        else:
            comm.recv(gradient, worker)
            parameters -= gradient
            comm.send(parameters, worker)
            comm.send(gradient, worker)
    return parameters


def work_and_compare(comm, parameters, gradients, seconds):
    answers = []
    for gradient, pause in zip(gradients, seconds, strict=True):
        comm.compute(pause)
        comm.send(torch.tensor([GRADIENT]), 0)
        comm.send(gradient, 0)
        answer, echo = torch.empty_like(parameters), torch.empty_like(parameters)
        comm.recv(answer, 0)
        comm.recv(echo, 0)
        answers.append(answer)
    comm.send(torch.tensor([GOODBYE]), 0)
    return answers
