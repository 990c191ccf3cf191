# expect: began from the mean of all ranks' weights
import torch


def mended_training(comm, weights, inputs, targets, rate):
    all_reduce(comm, weights)
    weights /= comm.world_size
    state = torch.zeros_like(weights)
    for rows, wanted in zip(inputs, targets, strict=True):
        gradient = mean_gradient(weights, rows, wanted)
        all_reduce(comm, gradient)
        gradient /= comm.world_size
        adagrad(weights, gradient, state, rate)
