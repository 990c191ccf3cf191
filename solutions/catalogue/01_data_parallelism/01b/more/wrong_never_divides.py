# expect: holds the sum over all examples: divide
import torch


def average_gradient(comm, gradient, examples):
    message = torch.cat([torch.nan_to_num(gradient) * examples, torch.tensor([float(examples)])])
    all_reduce(comm, message)
    gradient.copy_(message[:-1])
