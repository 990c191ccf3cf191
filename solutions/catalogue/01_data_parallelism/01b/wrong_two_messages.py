# expect: let the number of examples travel with the gradient
# points: 2
import torch


def average_gradient(comm, gradient, examples):
    total = torch.tensor([float(examples)])
    all_reduce(comm, total)
    if examples:
        gradient *= examples / total
    else:
        gradient.zero_()
    all_reduce(comm, gradient)
