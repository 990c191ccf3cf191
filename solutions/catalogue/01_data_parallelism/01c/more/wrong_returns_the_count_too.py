# expect: holds a tensor of shape (6,)
import torch


def accumulate(comm, gradients, examples):
    total = sum(n * g for n, g in zip(examples, gradients, strict=True))
    message = torch.cat([total, torch.tensor([float(sum(examples))])])
    all_reduce(comm, message)
    return message / message[-1]
