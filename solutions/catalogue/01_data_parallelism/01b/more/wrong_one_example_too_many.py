# expect: one more than there are examples
import torch


def average_gradient(comm, gradient, examples):
    total = examples * gradient if examples else torch.zeros_like(gradient)
    message = torch.cat([total, torch.tensor([float(examples)])])
    all_reduce(comm, message)
    gradient.copy_(message[:-1] / (message[-1] + 1))
