# expect: it took 14 steps on the wire, 4 all-reduces
# points: 3
# like: wrong_new_start_in_each_step
import torch


def mended_training(comm, weights, inputs, targets, rate):
    if comm.rank > 0:
        weights.zero_()
    all_reduce(comm, weights)
    state = torch.zeros_like(weights)
    for rows, wanted in zip(inputs, targets, strict=True):
        g = mean_gradient(weights, rows, wanted)
        all_reduce(comm, g)
        g /= comm.world_size
        adagrad(weights, g, state, rate)
        all_reduce(comm, weights)
        weights /= comm.world_size
