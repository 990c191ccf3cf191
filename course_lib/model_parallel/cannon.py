"""Cannon's algorithm: C = A B on a square grid, where blocks only ever move to a neighbor.

First every row of A turns left, row i by i places, and every column of B turns up, column j by j places: now each rank
holds an A and a B that belong together. Then all multiply, and both turn by one place, as often as a row has ranks.
"""

from __future__ import annotations

import torch

from course_lib.comm import Communicator
from course_lib.model_parallel.grid import Grid
from course_lib.model_parallel.layouts import part_lengths

__all__ = ["cannon_elements_sent", "cannon_product", "square_side"]


def square_side(world_size: int) -> int:
    """The side of the square grid of all ranks.

    Raises:
        ValueError: if `world_size` is no square number.
    """
    side = round(world_size**0.5)
    if side * side != world_size:
        raise ValueError(f"Cannon's algorithm needs a square number of ranks, got {world_size}")
    return side


def cannon_product(
    comm: Communicator, a: torch.Tensor, b: torch.Tensor, inner: int, steps: range | None = None
) -> torch.Tensor:
    """This rank's block of C = A B. `a` and `b` are its blocks of A and B; `inner` is the length that both share.

    Of the √p products that make a block, `steps` names those to add up, one or more in a row; without it, all.

    Cost: every rank sends at most one block of A and one of B in each of √p steps.
    Source: L. E. Cannon, "A cellular computer to implement the Kalman filter algorithm", PhD thesis, Montana State
    University, 1969.
    """
    side = square_side(comm.world_size)
    steps = steps or range(side)
    grid, lengths = Grid(comm, side, side), part_lengths(inner, side)
    row, column = grid.row, grid.column
    left, up = row + steps[0], column + steps[0]  # so far A and B turn before the first product
    number = (row + column + steps[0]) % side  # of the blocks that belong together here and now
    a = _turn(grid, a, (row, column - left), (row, column + left), (a.shape[0], lengths[number]))
    b = _turn(grid, b, (row - up, column), (row + up, column), (lengths[number], b.shape[1]))
    c = a @ b
    for step in steps[1:]:
        number = (row + column + step) % side
        a = _turn(grid, a, (row, column - 1), (row, column + 1), (a.shape[0], lengths[number]))
        b = _turn(grid, b, (row - 1, column), (row + 1, column), (lengths[number], b.shape[1]))
        c += a @ b
    return c


def _turn(
    grid: Grid, block: torch.Tensor, to: tuple[int, int], source: tuple[int, int], shape: tuple[int, int]
) -> torch.Tensor:
    """Send this rank's block to one place and return the block, of `shape`, that comes from another."""
    dst, src = grid.rank_at(*to), grid.rank_at(*source)
    if dst == grid.comm.rank:
        return block
    arriving = block.new_empty(shape)
    with grid.comm.batch():
        sent = grid.comm.isend(block, dst)
        grid.comm.recv(arriving, src)
    sent.wait()
    return arriving


def cannon_elements_sent(m: int, k: int, n: int, world_size: int, steps: range | None = None) -> list[int]:
    """How many numbers each rank sends to multiply [m, k] by [k, n], or to add up some `steps` of it.

    With sides that divide: √p blocks of A and √p of B from a rank that also turns at the start, one fewer each in
    row 0 and column 0.

    >>> cannon_elements_sent(4, 4, 4, world_size=4)
    [8, 12, 12, 16]
    """
    side = square_side(world_size)
    steps = steps or range(side)
    rows = part_lengths(m, side)
    inner = part_lengths(k, side)
    columns = part_lengths(n, side)
    sent = []
    for row in range(side):
        for column in range(side):
            numbers = [(row + column + step) % side for step in steps[:-1]]  # blocks passed on, one a step
            first_a = inner[column] if (row + steps[0]) % side else 0
            first_b = inner[row] if (column + steps[0]) % side else 0
            a = rows[row] * (first_a + sum(inner[number] for number in numbers))
            b = columns[column] * (first_b + sum(inner[number] for number in numbers))
            sent.append(a + b)
    return sent
