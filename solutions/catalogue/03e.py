# %% right: note_of_two_numbers
import numpy as np


def staleness_aware(comm, parameters, gradients, seconds, rate):
    me, out = comm.rank, []
    note = torch.zeros(2, dtype=torch.int64)
    if me:
        version = 0
        for g, s in zip(gradients, seconds, strict=True):
            comm.compute(s)
            note[0], note[1] = 1, version
            comm.send(note, 0)
            comm.send(g, 0)
            comm.recv(note, 0)
            version = int(note[1])
            a = torch.zeros_like(parameters)
            comm.recv(a, 0)
            out.append(a)
        note[0] = 0
        comm.send(note, 0)
        return tuple(out)
    p, ages, v, n = parameters.numpy().astype(np.float64), [], 0, comm.world_size - 1
    g = torch.empty_like(parameters)
    while n:
        w = comm.recv(note)
        if not note[0]:
            n -= 1
            continue
        comm.recv(g, w)
        age = v - int(note[1])
        ages.append(age)
        v += 1
        p -= rate / max(age, 1) * g.numpy()
        note[1] = v
        comm.send(note, w)
        comm.send(torch.tensor(p, dtype=torch.float32), w)
    return p, np.array(ages)


# %% right: version_in_the_row
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
