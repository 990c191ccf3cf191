import torch


def softsync_numbers(workers, n, gradients):
    c = torch.tensor(workers).div(n, rounding_mode="floor").double()
    return torch.stack([c, (gradients / c).floor(), (workers - 1) / c])
