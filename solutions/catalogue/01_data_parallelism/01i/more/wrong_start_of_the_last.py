# expect: began from the weights of rank 1
import torch


def mended_training(comm, weights, inputs, targets, rate):
    if comm.rank < comm.world_size - 1:
        weights.zero_()
    all_reduce(comm, weights)
    state = torch.zeros_like(weights)
    for rows, wanted in zip(inputs, targets, strict=True):
        g = mean_gradient(weights, rows, wanted)
        all_reduce(comm, g)
        g /= comm.world_size
        adagrad(weights, g, state, rate)
