import torch


def accumulate(comm, gradients, targets):
    grad = torch.zeros(len(gradients[0]) + 1)
    for gradient, labels in zip(gradients, targets, strict=True):
        n = torch.count_nonzero(labels + 100).item()
        grad[:-1] += gradient.nan_to_num() * n
        grad[-1] += n
    all_reduce(comm, grad)
    grad /= grad[-1].item()
    return grad[:-1]
