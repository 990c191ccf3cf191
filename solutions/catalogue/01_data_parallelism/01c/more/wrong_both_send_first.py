# expect: everybody sends and nobody receives
import torch


def accumulate(comm, gradients, examples):
    total = sum(n * g for n, g in zip(examples, gradients, strict=True))
    message = torch.cat([total, torch.tensor([float(sum(examples))])])
    for other in range(comm.world_size):
        if other != comm.rank:
            comm.send(message, other)
    b = torch.empty_like(message)
    for other in range(comm.world_size):
        if other != comm.rank:
            comm.recv(b, other)
            message += b
    return message[:-1] / message[-1]
