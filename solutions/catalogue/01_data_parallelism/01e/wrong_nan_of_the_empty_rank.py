# expect: the mean of nothing is 0/0
import torch


def joined_statistics(comm, inputs):
    n = len(inputs)
    message = torch.cat([n * inputs.mean(0), n * (inputs**2).mean(0), torch.tensor([float(n)])])
    all_reduce(comm, message)
    total, squares = message[:-1].chunk(2)
    mean = total / message[-1]
    return mean, squares / message[-1] - mean**2
