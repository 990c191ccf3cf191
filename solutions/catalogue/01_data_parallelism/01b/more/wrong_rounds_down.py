# expect: rounded down to whole numbers
import torch


def average_gradient(comm, gradient, examples):
    if not examples:
        gradient.zero_()
    gradient *= examples
    all_reduce(comm, gradient)
    n = torch.tensor(examples)
    all_reduce(comm, n)
    gradient //= n
