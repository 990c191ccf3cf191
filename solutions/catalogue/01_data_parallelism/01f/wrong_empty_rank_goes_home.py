# expect: has no examples and went home
import torch


def batch_norm_backward(comm, upstream, normalized, deviation, examples):
    if len(upstream) == 0:
        return upstream
    s = torch.stack([upstream.sum(0), (upstream * normalized).sum(0)])
    all_reduce(comm, s)
    s /= examples
    return (upstream - s[0] - normalized * s[1]) / deviation
