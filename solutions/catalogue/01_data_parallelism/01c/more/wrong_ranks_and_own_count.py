# expect: and by that of ranks
import torch


def accumulate(comm, gradients, examples):
    total = sum(n * g for n, g in zip(examples, gradients, strict=True))
    message = torch.cat([total, torch.tensor([float(sum(examples))])])
    all_reduce(comm, message)
    message /= comm.world_size
    return message[:-1] / sum(examples)
