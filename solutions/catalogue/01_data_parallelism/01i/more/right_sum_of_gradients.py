import torch


def mended_training(comm, weights, inputs, targets, rate):
    if comm.rank:
        weights.zero_()
    all_reduce(comm, weights)
    state = torch.zeros_like(weights)
    for rows, wanted in zip(inputs, targets, strict=True):
        g = mean_gradient(weights, rows, wanted)
        all_reduce(comm, g)
        adagrad(weights, g, state, rate)
