# expect: 'NoneType' object is not subscriptable
import torch


def average_gradient(comm, gradient, examples):
    total = examples * gradient if examples else torch.zeros_like(gradient)
    message = torch.cat([total, torch.tensor([float(examples)])])
    message = all_reduce(comm, message)
    gradient.copy_(message[:-1] / message[-1])
