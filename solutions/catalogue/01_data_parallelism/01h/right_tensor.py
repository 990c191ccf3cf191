import torch


def wrong_way(world_size):
    g = torch.full((world_size,), -1.0)
    g[-1] = 2.0 * world_size
    return g
