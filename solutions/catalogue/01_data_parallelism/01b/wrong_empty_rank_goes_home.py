# expect: has no examples and went home
import torch


def average_gradient(comm, gradient, examples):
    if examples == 0:
        return
    s = torch.cat([gradient * examples, torch.tensor([float(examples)])])
    all_reduce(comm, s)
    gradient.copy_(s[:-1] / s[-1])
