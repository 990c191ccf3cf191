# expect: divided by N twice
import torch


def batch_norm_backward(comm, upstream, normalized, deviation, examples):
    sums = torch.cat([upstream.sum(0), (upstream * normalized).sum(0)]) / examples
    all_reduce(comm, sums)
    mean, product = (sums / examples).chunk(2)
    return (upstream - mean - normalized * product) / deviation
