import torch


def joined_statistics(comm, inputs):
    message = torch.cat([inputs.sum(0), torch.tensor([float(len(inputs))])])
    all_reduce(comm, message)
    mean = message[:-1] / message[-1]
    scatter = ((inputs - mean) ** 2).sum(0)
    all_reduce(comm, scatter)
    return mean, scatter / message[-1]
