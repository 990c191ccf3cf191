import numpy as np
import torch


def mended_training(comm, weights, inputs, targets, rate):
    if comm.rank:
        weights[:] = 0
    all_reduce(comm, weights)
    w, s = weights.numpy(), np.zeros(len(weights))
    for x, y in zip(inputs.numpy(), targets.numpy(), strict=True):
        g = torch.from_numpy(2 * x.T @ (x @ w - y) / len(y))
        all_reduce(comm, g)
        g = g.numpy() / comm.world_size
        s += g * g
        w -= rate * g / (np.sqrt(s) + 1e-10)
