import torch


def accumulate(comm, gradients, examples):
    grad = torch.zeros(len(gradients[0]) + 1)
    for gradient, n in zip(gradients, examples, strict=True):
        grad[:-1] += gradient * n
        grad[-1] += n
    all_reduce(comm, grad)
    grad /= grad[-1].item()
    return grad[:-1]
