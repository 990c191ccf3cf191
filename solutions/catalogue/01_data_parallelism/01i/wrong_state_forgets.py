# expect: lets Adagrad forget
import torch


def mended_training(comm, weights, inputs, targets, rate):
    if comm.rank > 0:
        weights.zero_()
    all_reduce(comm, weights)
    for rows, wanted in zip(inputs, targets, strict=True):
        state = torch.zeros_like(weights)
        g = mean_gradient(weights, rows, wanted)
        all_reduce(comm, g)
        g /= comm.world_size
        adagrad(weights, g, state, rate)
