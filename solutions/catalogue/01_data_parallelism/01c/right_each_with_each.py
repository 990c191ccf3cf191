import torch


def accumulate(comm, gradients, examples):
    total = sum(n * g for n, g in zip(examples, gradients, strict=True))
    message = torch.cat([total, torch.tensor([float(sum(examples))])])
    works, bufs = [], []
    for other in range(comm.world_size):
        if other != comm.rank:
            b = torch.empty_like(message)
            bufs.append(b)
            works += [comm.irecv(b, other), comm.isend(message, other)]
    [w.wait() for w in works]
    s = sum(bufs, message)
    return s[:-1] / s[-1]
