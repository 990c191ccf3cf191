# expect: it is a root already
import torch


def batch_norm_backward(comm, upstream, normalized, deviation, examples):
    s = torch.stack([upstream.sum(0), (upstream * normalized).sum(0)])
    all_reduce(comm, s)
    s /= examples
    return (upstream - s[0] - normalized * s[1]) / deviation.sqrt()
