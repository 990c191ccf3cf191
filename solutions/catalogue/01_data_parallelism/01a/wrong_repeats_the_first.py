# expect: DistributedSampler
import torch


def part(order, rank, world_size):
    padding = -len(order) % world_size
    while padding:
        order = torch.cat([order, order[:padding]])
        padding = -len(order) % world_size if len(order) else 0
    return order[rank::world_size]
