# expect: it must be added up once
import torch


def average_gradient(comm, gradient, examples):
    total = examples * gradient if examples else torch.zeros_like(gradient)
    n = torch.tensor([float(examples)])
    all_reduce(comm, total)
    all_reduce(comm, n)
    all_reduce(comm, n)
    gradient.copy_(total / n)
