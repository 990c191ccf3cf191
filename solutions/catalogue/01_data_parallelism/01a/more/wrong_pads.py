# expect: holds -1, which is no example
# like: wrong_counts_from_one
import torch


def part(order, rank, world_size):
    size = -(-len(order) // world_size)
    out = torch.full((size,), -1)
    mine = order[rank::world_size]
    out[: len(mine)] = mine
    return out
