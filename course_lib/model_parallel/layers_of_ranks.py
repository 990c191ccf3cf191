"""2.5D: C = A B on several layers of ranks, each with a copy of both matrices. More memory, fewer turns.

c layers of √(p/c) × √(p/c) ranks. Each layer does a c-th of Cannon's steps, on blocks c times as large, and the layers
add up what they have. Ranks are numbered layer by layer; those above each other own one block, a c-th of its rows each.
"""

from __future__ import annotations

import torch

from course_lib.comm import Communicator
from course_lib.model_parallel.cannon import cannon_elements_sent, cannon_product, square_side
from course_lib.model_parallel.layouts import gather, part_lengths, part_starts, scatter_sum

__all__ = ["layered_elements_sent", "layered_product"]


def layered_product(
    comm: Communicator, a: torch.Tensor, b: torch.Tensor, m: int, k: int, n: int, layers: int
) -> torch.Tensor:
    """This rank's rows of its block of C, which is [m, n]; `a` and `b` are its rows of its blocks of A and B.

    Cost: with lengths that divide, every rank sends at most 2√(p/c)/c + 3(c - 1)/c blocks, each of n²c/p numbers.
    Source: Solomonik and Demmel, "Communication-optimal parallel 2.5D matrix multiplication and LU factorization
    algorithms", Euro-Par 2011; there copies are broadcast from one layer, here they are gathered from all.

    Raises:
        ValueError: if the layers are no squares, or more of them than steps.
    """
    side, steps = _steps(comm.world_size, layers)
    layer, place = divmod(comm.rank, side * side)
    square = comm.group(range(layer * side * side, (layer + 1) * side * side))
    above_each_other = comm.group(range(place, comm.world_size, side * side))
    a = gather(above_each_other, a, 0, part_lengths(m, side)[place // side])
    b = gather(above_each_other, b, 0, part_lengths(k, side)[place // side])
    c = cannon_product(square, a, b, k, steps[layer])
    return scatter_sum(above_each_other, c, 0)


def _steps(world_size: int, layers: int) -> tuple[int, list[range]]:
    """The side of a layer's square, and which of Cannon's steps each layer takes."""
    if layers < 1 or world_size % layers:
        raise ValueError(f"{world_size} ranks are not {layers} equal layers")
    side = square_side(world_size // layers)
    if layers > side:
        raise ValueError(f"{layers} layers have only {side} steps to share, those of {side} × {side} ranks")
    starts = part_starts(side, layers)
    return side, [range(start, stop) for start, stop in zip(starts, [*starts[1:], side], strict=True)]


def layered_elements_sent(m: int, k: int, n: int, world_size: int, layers: int) -> list[int]:
    """How many numbers each rank sends to multiply [m, k] by [k, n] so.

    >>> max(layered_elements_sent(64, 64, 64, world_size=64, layers=1)), 2 * 64**2 // 8
    (1024, 1024)
    >>> max(layered_elements_sent(64, 64, 64, world_size=64, layers=4)), 2 * 64**2 // 16 + 3 * 3 * 64**2 // 64
    (1088, 1088)
    """
    side, steps = _steps(world_size, layers)
    lengths = [part_lengths(length, side) for length in (m, k, n)]
    sent = []
    for layer in range(layers):
        for place, turned in enumerate(cannon_elements_sent(m, k, n, side * side, steps[layer])):
            row, column = divmod(place, side)
            gathered = [(lengths[0][row], lengths[1][column]), (lengths[1][row], lengths[2][column])]
            copies = sum((rows - part_lengths(rows, layers)[(layer + 1) % layers]) * width for rows, width in gathered)
            rows, width = lengths[0][row], lengths[2][column]
            sums = (rows - part_lengths(rows, layers)[layer]) * width
            sent.append(turned + copies + sums if layers > 1 else turned)
    return sent
