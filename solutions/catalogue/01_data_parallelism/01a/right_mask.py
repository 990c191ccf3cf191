import torch


def part(order, rank, world_size):
    places = torch.arange(len(order))
    return torch.masked_select(order, places % world_size == rank)
