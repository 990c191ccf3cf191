import torch


def joined_statistics(comm, inputs):
    n, own = len(inputs), torch.zeros(inputs.shape[1])
    variance = inputs.var(0, correction=0) if n else own
    message = torch.cat([inputs.sum(0), variance, torch.tensor([float(n), float(n > 0)])])
    all_reduce(comm, message)
    total, variances = message[:-2].chunk(2)
    return total / message[-2], variances / message[-1]
