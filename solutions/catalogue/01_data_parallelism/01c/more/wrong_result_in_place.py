# expect: its `return` is missing
import torch


def accumulate(comm, gradients, examples):
    total = sum(n * g for n, g in zip(examples, gradients, strict=True))
    message = torch.cat([total, torch.tensor([float(sum(examples))])])
    all_reduce(comm, message)
    gradients[0].copy_(message[:-1] / message[-1])
