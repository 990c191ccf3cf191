# expect: gave the variance first
import torch


def joined_statistics(comm, inputs):
    f = inputs.shape[1]
    s = torch.cat([inputs.sum(0), (inputs**2).sum(0), torch.tensor([len(inputs)])])
    all_reduce(comm, s)
    n = s[-1]
    m = s[:f] / n
    return s[f:-1] / n - m**2, m
