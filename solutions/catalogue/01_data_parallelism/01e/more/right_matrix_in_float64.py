import torch


def joined_statistics(comm, inputs):
    x = inputs.double()
    sums = torch.stack([torch.ones_like(x), x, x * x]).sum(1)
    all_reduce(comm, sums)
    count, total, squares = sums
    return [total / count, (squares * count - total**2) / count**2]
