import torch


def accumulate(comm, gradients, examples):
    total = torch.zeros(len(gradients[0]) + 1)
    for gradient, n in zip(gradients, examples, strict=True):
        message = torch.cat([n * gradient, torch.tensor([float(n)])])
        all_reduce(comm, message)
        total += message
    return total[:-1] / total[-1]
