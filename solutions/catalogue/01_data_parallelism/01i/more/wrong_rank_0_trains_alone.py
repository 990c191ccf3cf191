# expect: holds what rank 0 reached alone
import torch


def mended_training(comm, weights, inputs, targets, rate):
    state = torch.zeros_like(weights)
    if comm.rank == 0:
        for rows, wanted in zip(inputs, targets, strict=True):
            adagrad(weights, mean_gradient(weights, rows, wanted), state, rate)
    else:
        weights.zero_()
    all_reduce(comm, weights)
