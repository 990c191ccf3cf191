# expect: began from the sum of all ranks' weights
import torch


def mended_training(comm, weights, inputs, targets, rate):
    all_reduce(comm, weights)
    state = torch.zeros_like(weights)
    for rows, wanted in zip(inputs, targets, strict=True):
        g = mean_gradient(weights, rows, wanted)
        all_reduce(comm, g)
        g /= comm.world_size
        adagrad(weights, g, state, rate)
