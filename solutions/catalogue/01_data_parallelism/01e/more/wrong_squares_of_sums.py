# expect: square first, add then
import torch


def joined_statistics(comm, inputs):
    message = torch.cat([inputs.sum(0), inputs.sum(0) ** 2, torch.tensor([float(len(inputs))])])
    all_reduce(comm, message)
    total, squares = message[:-1].chunk(2)
    mean = total / message[-1]
    return mean, squares / message[-1] - mean**2
