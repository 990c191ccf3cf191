import numpy as np
import torch


def batch_norm_backward(comm, upstream, normalized, deviation, examples):
    g, h = upstream.numpy(), normalized.numpy()
    m = torch.from_numpy(np.concatenate([g.sum(0), (g * h).sum(0)]))
    parcel, total = m.clone(), m.clone()
    p = comm.world_size
    for _ in range(p - 1):
        w = comm.isend(parcel, (comm.rank + 1) % p)
        box = torch.empty_like(parcel)
        comm.recv(box, (comm.rank - 1) % p)
        w.wait()
        total += box
        parcel = box
    a, b = np.split(total.numpy() / examples, 2)
    return (g - a - h * b) / deviation.numpy()
