import torch


def mended_training(comm, weights, inputs, targets, rate):
    state = torch.zeros_like(weights)
    for rows, wanted in zip(inputs, targets, strict=True):
        adagrad(weights, mean_gradient(weights, rows, wanted), state, rate)
        all_reduce(comm, weights)
        weights /= comm.world_size
