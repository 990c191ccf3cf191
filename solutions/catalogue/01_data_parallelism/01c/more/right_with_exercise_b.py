import torch


def average_gradient(comm, gradient, examples):
    message = torch.cat([examples * gradient, torch.tensor([float(examples)])])
    all_reduce(comm, message)
    gradient.copy_(message[:-1] / message[-1])


def accumulate(comm, gradients, examples):
    own = sum(examples)
    mean = sum(n / own * gradient for n, gradient in zip(examples, gradients, strict=True))
    average_gradient(comm, mean, own)
    return mean
