# expect: mean of the ranks' means
import torch


def batch_norm_backward(comm, upstream, normalized, deviation, examples):
    s = torch.stack([upstream.mean(0), (upstream * normalized).mean(0)])
    all_reduce(comm, s)
    s /= comm.world_size
    return (upstream - s[0] - normalized * s[1]) / deviation
