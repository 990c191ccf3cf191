# expect: took the mean of the ranks' means
import torch


def joined_statistics(comm, inputs):
    n = max(len(inputs), 1)
    message = torch.cat([inputs.sum(0) / n, (inputs**2).sum(0) / n])
    all_reduce(comm, message)
    mean, square = (message / comm.world_size).chunk(2)
    return mean, square - mean**2
