import torch


def wrong_way(world_size):
    gradients = torch.full((world_size,), 0.25)
    gradients[: (world_size - 1) // 2] = -1000.0
    return gradients
