# expect: zeros in place of that come too late
import torch


def average_gradient(comm, gradient, examples):
    message = torch.cat([gradient * examples, torch.tensor([float(examples)])])
    all_reduce(comm, message)
    gradient.copy_(torch.nan_to_num(message[:-1] / message[-1]))
