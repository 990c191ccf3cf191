# expect: holds a tensor of shape (4,)
import torch


def joined_statistics(comm, inputs):
    message = torch.cat([inputs.sum(1), (inputs**2).sum(1), torch.tensor([float(len(inputs))])])
    all_reduce(comm, message)
    total, squares = message[:-1].chunk(2)
    mean = total / message[-1]
    return mean, squares / message[-1] - mean**2
