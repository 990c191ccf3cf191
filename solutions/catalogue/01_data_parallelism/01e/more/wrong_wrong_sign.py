# expect: with the wrong sign
import torch


def joined_statistics(comm, inputs):
    message = torch.cat([inputs.sum(0), (inputs**2).sum(0), torch.tensor([float(len(inputs))])])
    all_reduce(comm, message)
    total, squares = message[:-1].chunk(2)
    mean = total / message[-1]
    return mean, mean**2 - squares / message[-1]
