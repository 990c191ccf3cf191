# expect: by its own number of examples; N is that of the joined batch
import torch


def batch_norm_backward(comm, upstream, normalized, deviation, examples):
    sums = torch.cat([upstream.sum(0), (upstream * normalized).sum(0)])
    all_reduce(comm, sums)
    mean, product = (sums / max(len(upstream), 1)).chunk(2)
    return (upstream - mean - normalized * product) / deviation
