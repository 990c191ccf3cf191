# expect: every rank still holds its own gradient
import torch


def average_gradient(comm, gradient, examples):
    message = torch.cat([torch.nan_to_num(gradient) * examples, torch.tensor([float(examples)])])
    all_reduce(comm, message)
    gradient = message[:-1] / message[-1]
