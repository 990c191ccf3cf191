"""From one layout of activations to another: whole, split by examples, or split by features.

Activations are [batch, ...]. A layer that is split by outputs wants its input whole and leaves its output split by
features; data parallelism has everything split by examples. What lies between two layers moves the numbers.
"""

from __future__ import annotations

from itertools import accumulate

import torch

from course_lib.collectives import all_gather, chunk_bytes, reduce_scatter
from course_lib.comm import Communicator


def part_lengths(length: int, parts: int) -> list[int]:
    """Lengths of the parts that `torch.tensor_split` cuts: the first ones get what is left over.

    >>> part_lengths(10, 4)
    [3, 3, 2, 2]
    """
    return chunk_bytes(length, parts, element_bytes=1)


def part_starts(length: int, parts: int) -> list[int]:
    """Where each of those parts begins.

    >>> part_starts(10, 4)
    [0, 3, 6, 8]
    """
    return list(accumulate(part_lengths(length, parts)[:-1], initial=0))


def own_part(comm: Communicator, whole: torch.Tensor, dim: int) -> torch.Tensor:
    """This rank's part of `whole` along `dim`. Nothing crosses."""
    return whole.tensor_split(comm.world_size, dim)[comm.rank].contiguous()


def gather(comm: Communicator, part: torch.Tensor, dim: int, length: int) -> torch.Tensor:
    """The whole of what the ranks have in parts along `dim`, where it is `length` long: an all-gather."""
    shape = list(part.shape)
    parts = []
    for part_length in part_lengths(length, comm.world_size):
        shape[dim] = part_length
        parts.append(part.new_empty(shape))
    all_gather(comm, parts, part.contiguous())
    return torch.cat(parts, dim)


def scatter_sum(comm: Communicator, whole: torch.Tensor, dim: int) -> torch.Tensor:
    """This rank's part along `dim` of the sum of all ranks' `whole`: a reduce-scatter."""
    parts = [part.contiguous() for part in whole.tensor_split(comm.world_size, dim)]
    mine = torch.empty_like(parts[comm.rank])
    reduce_scatter(comm, mine, parts)
    return mine
