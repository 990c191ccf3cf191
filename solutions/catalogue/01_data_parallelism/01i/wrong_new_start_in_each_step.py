# expect: one for the weights at the start, and one for the gradient in each step
# points: 3
import torch


def mended_training(comm, weights, inputs, targets, rate):
    state = torch.zeros_like(weights)
    for rows, wanted in zip(inputs, targets, strict=True):
        if comm.rank > 0:
            weights.zero_()
        all_reduce(comm, weights)
        gradient = mean_gradient(weights, rows, wanted)
        all_reduce(comm, gradient)
        gradient /= comm.world_size
        adagrad(weights, gradient, state, rate)
