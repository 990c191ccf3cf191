import numpy as np
import torch


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
