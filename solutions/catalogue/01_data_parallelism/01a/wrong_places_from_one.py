# expect: which is no example of the order
import torch


def part(order, rank, world_size):
    return torch.arange(1, len(order) + 1)[rank::world_size]
