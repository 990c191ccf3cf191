# expect: which are places in the order
import torch


def part(order, rank, world_size):
    return torch.arange(len(order))[rank::world_size]
