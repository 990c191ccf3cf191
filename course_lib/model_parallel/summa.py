"""SUMMA: C = A B on any grid of ranks. A panel of A's columns goes along the rows, the panel of B's rows that it meets
goes along the columns, and every rank adds their product to its block of C.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import pairwise
from typing import NamedTuple

import torch

from course_lib.collectives import broadcast, broadcast_cost
from course_lib.comm import Communicator
from course_lib.model_parallel.grid import Grid
from course_lib.model_parallel.layouts import part_lengths, part_starts

__all__ = ["Panel", "panels", "summa_elements_received", "summa_elements_sent", "summa_product"]


class Panel(NamedTuple):
    """Positions `start` to `stop` of the inner length: which column of ranks has them of A, which row has them of B."""

    start: int
    stop: int
    column: int
    row: int


def panels(inner: int, rows: int, columns: int) -> list[Panel]:
    """The steps of SUMMA on a grid of `rows` × `columns`: wherever A's or B's cut ends, a new panel begins.

    >>> for panel in panels(6, rows=2, columns=3):
    ...     print(*panel)
    0 2 0 0
    2 3 1 0
    3 4 1 1
    4 6 2 1
    """
    of_a, of_b = part_starts(inner, columns), part_starts(inner, rows)
    cuts = sorted({*of_a, *of_b, inner})
    # A part that is empty begins where the next one does: the last part that begins here has the numbers.
    return [
        Panel(start, stop, bisect_right(of_a, start) - 1, bisect_right(of_b, start) - 1)
        for start, stop in pairwise(cuts)
    ]


def summa_product(
    comm: Communicator, a: torch.Tensor, b: torch.Tensor, rows: int, columns: int, inner: int
) -> torch.Tensor:
    """This rank's block of C = A B. `a` and `b` are its blocks of A and B; `inner` is the length that both share.

    Cost: every rank receives the rest of its row of A and of its column of B, once.
    Source: van de Geijn and Watts, "SUMMA: scalable universal matrix multiplication algorithm", Concurrency 9(4), 1997.
    """
    grid = Grid(comm, rows, columns)
    first_of_a, first_of_b = part_starts(inner, columns)[grid.column], part_starts(inner, rows)[grid.row]
    c = a.new_zeros(a.shape[0], b.shape[1])
    for start, stop, column, row in panels(inner, rows, columns):
        from_a = a.new_empty(a.shape[0], stop - start)
        from_b = b.new_empty(stop - start, b.shape[1])
        if grid.column == column:
            from_a.copy_(a[:, start - first_of_a : stop - first_of_a])
        if grid.row == row:
            from_b.copy_(b[start - first_of_b : stop - first_of_b])
        broadcast(grid.row_group, from_a, column)
        broadcast(grid.column_group, from_b, row)
        c += from_a @ from_b
    return c


def summa_elements_received(m: int, k: int, n: int, rows: int, columns: int) -> list[int]:
    """How many numbers each rank receives: its rows of A and its columns of B, but for what it has.

    >>> summa_elements_received(4, 4, 4, rows=2, columns=2)
    [8, 8, 8, 8]
    """
    return [
        rows_here * (k - of_a) + columns_here * (k - of_b)
        for rows_here, of_b in zip(part_lengths(m, rows), part_lengths(k, rows), strict=True)
        for columns_here, of_a in zip(part_lengths(n, columns), part_lengths(k, columns), strict=True)
    ]


def summa_elements_sent(m: int, k: int, n: int, rows: int, columns: int) -> list[int]:
    """How many numbers each rank sends: a panel goes down a binomial tree, so its owner sends it ⌈log₂⌉ times.

    >>> summa_elements_sent(4, 4, 4, rows=2, columns=2)
    [8, 8, 8, 8]
    """
    sent = [0] * (rows * columns)
    heights, widths = part_lengths(m, rows), part_lengths(n, columns)
    for start, stop, column, row in panels(k, rows, columns):
        along_rows = broadcast_cost(1, world_size=columns, src=column, element_bytes=1).bytes_sent
        along_columns = broadcast_cost(1, world_size=rows, src=row, element_bytes=1).bytes_sent
        for rank in range(rows * columns):
            i, j = divmod(rank, columns)
            sent[rank] += (stop - start) * (heights[i] * along_rows[j] + widths[j] * along_columns[i])
    return sent
