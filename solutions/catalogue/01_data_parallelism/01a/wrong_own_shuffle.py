# expect: Does every rank shuffle for itself
import torch


def part(order, rank, world_size):
    shuffled = order[torch.randperm(len(order), generator=torch.Generator().manual_seed(rank))]
    return shuffled[rank::world_size]
