# expect: the first micro-batch in it once too often
import torch


def accumulate(comm, gradients, examples):
    total = gradients[0]
    for g, n in zip(gradients, examples, strict=True):
        total += n * g
    message = torch.cat([total, torch.tensor([float(sum(examples))])])
    all_reduce(comm, message)
    return message[:-1] / message[-1]
