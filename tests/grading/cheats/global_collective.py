"""Calls PyTorch's own all-reduce."""

import torch.distributed as dist


def ring_sum(comm, tensor):
    dist.all_reduce(tensor)
