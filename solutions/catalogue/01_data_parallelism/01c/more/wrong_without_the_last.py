# expect: is the only micro-batch, the last one, in it
import torch


def accumulate(comm, gradients, examples):
    total = torch.zeros(len(gradients[0]) + 1)
    for n, gradient in zip(examples[:-1], gradients[:-1], strict=True):
        total[:-1] += n * gradient
        total[-1] += n
    all_reduce(comm, total)
    return total[:-1] / total[-1]
