# expect: its `return` is missing
import torch


def batch_norm_backward(comm, upstream, normalized, deviation, examples):
    sums = torch.cat([upstream.sum(0), (upstream * normalized).sum(0)])
    all_reduce(comm, sums)
    mean, product = (sums / examples).chunk(2)
    upstream.copy_((upstream - mean - normalized * product) / deviation)
