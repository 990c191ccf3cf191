import torch


def accumulate(comm, gradients, examples):
    weights = torch.tensor(examples, dtype=torch.float64)
    rows = torch.stack([torch.cat([gradient, torch.ones(1)]) for gradient in gradients]).double()
    joined = weights @ rows
    all_reduce(comm, joined)
    return joined[:-1] / joined[-1]
