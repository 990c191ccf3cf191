import torch


def staleness_aware(comm, parameters, gradients, seconds, rate):
    if comm.rank == 0:
        return serve(comm, parameters, rate)
    return push_and_pull(comm, gradients, seconds)


def serve(comm, parameters, rate):
    letter, version, ages, here = torch.empty(len(parameters) + 1), 0, [], comm.world_size - 1
    while here:
        worker = comm.recv(letter)
        if letter[-1] < 0:
            here -= 1
            continue
        age = version - int(letter[-1])
        ages.append(age)
        parameters = parameters - letter[:-1] * (rate / age if age > 1 else rate)
        version += 1
        comm.send(torch.cat([parameters, torch.tensor([float(version)])]), worker)
    return [parameters, ages]


def push_and_pull(comm, gradients, seconds):
    version, answers = torch.zeros(1), []
    for gradient, pause in zip(gradients, seconds, strict=True):
        comm.compute(pause)
        comm.send(torch.cat([gradient, version]), 0)
        letter = torch.empty(len(gradient) + 1)
        comm.recv(letter, 0)
        answers.append(letter[:-1].clone())
        version = letter[-1:].clone()
    comm.send(torch.full((gradients.shape[1] + 1,), -1.0), 0)
    return answers
