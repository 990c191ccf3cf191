import torch


def joined_statistics(comm, inputs):
    features = inputs.shape[1]
    ones = torch.cat([inputs, torch.ones(len(inputs), 1)], 1)
    gram = (ones.T @ ones).contiguous()
    all_reduce(comm, gram)
    mean = gram[-1, :features] / gram[-1, -1]
    return mean, gram.diagonal()[:features] / gram[-1, -1] - mean**2
