import torch


def softsync_numbers(workers, n, gradients):
    each = workers // n
    return torch.tensor([each, gradients // each, (workers - 1) / each])
