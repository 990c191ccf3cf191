# expect: divided the sum of all examples by the number of its own, times the ranks
import torch


def joined_statistics(comm, inputs):
    message = torch.cat([inputs.sum(0), (inputs**2).sum(0)])
    all_reduce(comm, message)
    total, squares = message.chunk(2)
    n = max(len(inputs), 1) * comm.world_size
    return total / n, squares / n - (total / n) ** 2
