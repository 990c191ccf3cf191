import torch


def mended_training(comm, weights, inputs, targets, rate):
    if comm.rank > 0:
        weights.zero_()
    all_reduce(comm, weights)
    state = torch.zeros_like(weights)
    for rows, wanted in zip(inputs, targets, strict=True):
        adagrad(weights, mean_gradient(weights, rows, wanted), state, rate)
        all_reduce(comm, weights)
        weights /= comm.world_size
