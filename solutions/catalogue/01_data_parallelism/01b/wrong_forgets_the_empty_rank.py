# expect: the mean of nothing is 0/0
import torch


def average_gradient(comm, gradient, examples):
    message = torch.cat([examples * gradient, torch.tensor([float(examples)])])
    all_reduce(comm, message)
    gradient.copy_(message[:-1] / message[-1])
