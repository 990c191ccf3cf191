import torch


def batch_norm_backward(comm, upstream, normalized, deviation, examples):
    mine = torch.tensor([float(len(upstream))], dtype=torch.float64)
    sums = torch.cat([upstream.sum(0), (upstream * normalized).sum(0), mine])
    all_reduce(comm, sums)
    assert sums[-1] == examples, f"{sums[-1]} examples came, {examples} there are"
    mean, product = (sums[:-1] / examples).chunk(2)
    return (upstream - mean - normalized * product) / deviation
