# expect: left out the last batch
import torch


def mended_training(comm, weights, inputs, targets, rate):
    if comm.rank > 0:
        weights.zero_()
    all_reduce(comm, weights)
    state = torch.zeros_like(weights)
    for rows, wanted in zip(inputs[:-1], targets[:-1], strict=True):
        g = mean_gradient(weights, rows, wanted)
        all_reduce(comm, g)
        g /= comm.world_size
        adagrad(weights, g, state, rate)
