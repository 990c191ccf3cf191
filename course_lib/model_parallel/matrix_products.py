"""Matrix products on a grid of ranks (Cannon, 2.5D, SUMMA), the lower bound of what they send; Strassen's product.

rank 0  1  2      row 0
rank 3  4  5      row 1

Cannon's algorithm runs on a square grid. First every row of A turns left, row i by i places, and every column of B
turns up, column j by j places: now each rank holds an A and a B that belong together. Then all multiply, and both turn
by one place, as often as a row has ranks.

2.5D keeps copies of both matrices: more memory, fewer turns. It has c layers of √(p/c) × √(p/c) ranks. Each layer does
a c-th of Cannon's steps, on blocks c times as large, and the layers add up what they have. Ranks are numbered layer by
layer; those above each other own one block, a c-th of its rows each.

SUMMA runs on any grid. A panel of A's columns goes along the rows, the panel of B's rows that it meets goes along the
columns, and every rank adds their product to its block of C.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from itertools import pairwise
from typing import NamedTuple

import torch

from course_lib.collectives import broadcast, broadcast_cost
from course_lib.comm import Communicator
from course_lib.model_parallel.layouts import gather, part_lengths, part_starts, scatter_sum


class Grid:
    """This rank's place among `rows` × `columns` ranks, numbered row by row.

    Attributes:
        row, column: this rank's place.
        row_group: the ranks of its row, numbered by column. column_group: those of its column, numbered by row.

    Raises:
        ValueError: if the grid has not as many places as there are ranks.

    >>> from course_lib import simulate
    >>> simulate(lambda comm: (Grid(comm, 2, 3).row, Grid(comm, 2, 3).column), world_size=6).results[4]
    (1, 1)
    """

    def __init__(self, comm: Communicator, rows: int, columns: int) -> None:
        if rows < 1 or columns < 1 or rows * columns != comm.world_size:
            raise ValueError(f"a grid of {rows} × {columns} needs {rows * columns} ranks, there are {comm.world_size}")
        self.comm = comm
        self.rows = rows
        self.columns = columns
        self.row, self.column = divmod(comm.rank, columns)
        self.row_group = comm.group([self.rank_at(self.row, column) for column in range(columns)])
        self.column_group = comm.group([self.rank_at(row, self.column) for row in range(rows)])

    def rank_at(self, row: int, column: int) -> int:
        """The rank in that place; rows and columns wrap around."""
        return row % self.rows * self.columns + column % self.columns

    def block(self, matrix: torch.Tensor) -> torch.Tensor:
        """This rank's block of a matrix that is cut into as many blocks as the grid has places."""
        return matrix.tensor_split(self.rows, 0)[self.row].tensor_split(self.columns, 1)[self.column].contiguous()


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


class SummaPanel(NamedTuple):
    """Positions `start` to `stop` of the inner length: which column of ranks has them of A, which row has them of B."""

    start: int
    stop: int
    column: int
    row: int


def panels(inner: int, rows: int, columns: int) -> list[SummaPanel]:
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
        SummaPanel(start, stop, bisect_right(of_a, start) - 1, bisect_right(of_b, start) - 1)
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


def min_elements_moved(n: int, world_size: int, memory_elements: float) -> float:
    """Numbers that some rank must send and receive, together, to multiply two n × n matrices in the usual n³ way.

    n³ / (2√2 p √M) − M, where each of p ranks has room for M numbers. Strassen's way may do with less.

    Source: Irony, Toledo and Tiskin, "Communication lower bounds for distributed-memory matrix multiplication",
    JPDC 64(9), 2004.

    Few ranks have so much room that the bound says nothing:

    >>> [round(min_elements_moved(4096, world_size=p, memory_elements=3 * 4096**2 / p)) for p in (64, 4096)]
    [0, 41222]
    """
    bound = n**3 / (2 * math.sqrt(2) * world_size * math.sqrt(memory_elements)) - memory_elements
    return max(0.0, bound)


class Operations(NamedTuple):
    """Multiplications and additions (subtractions count as additions) of single numbers."""

    multiplications: int
    additions: int

    @property
    def total(self) -> int:
        return self.multiplications + self.additions


def strassen_product(a: torch.Tensor, b: torch.Tensor, levels: int = 1) -> torch.Tensor:  # [n, n], [n, n] -> [n, n]
    """The product of two square matrices, by Strassen's scheme on `levels` levels and by torch's below.

    Exact on whole numbers that fit the dtype. On floats it rounds more than the usual product, for it subtracts.

    Raises:
        ValueError: if the matrices are not square and alike, or if 2^levels does not divide their side.

    Source: V. Strassen, "Gaussian elimination is not optimal", Numerische Mathematik 13, 1969.

    >>> a, b = torch.tensor([[1, 2], [3, 4]]), torch.tensor([[5, 6], [7, 8]])
    >>> strassen_product(a, b).tolist()
    [[19, 22], [43, 50]]
    """
    n = a.shape[0]
    if a.shape != (n, n) or b.shape != (n, n) or n % 2**levels:
        shapes = f"{tuple(a.shape)} and {tuple(b.shape)}"
        raise ValueError(f"{levels} levels need two square matrices with a side that {2**levels} divides, got {shapes}")
    if levels == 0:
        return a @ b
    (a11, a12), (a21, a22) = _quarters(a)
    (b11, b12), (b21, b22) = _quarters(b)
    m1 = strassen_product(a11 + a22, b11 + b22, levels - 1)
    m2 = strassen_product(a21 + a22, b11, levels - 1)
    m3 = strassen_product(a11, b12 - b22, levels - 1)
    m4 = strassen_product(a22, b21 - b11, levels - 1)
    m5 = strassen_product(a11 + a12, b22, levels - 1)
    m6 = strassen_product(a21 - a11, b11 + b12, levels - 1)
    m7 = strassen_product(a12 - a22, b21 + b22, levels - 1)
    top = torch.cat([m1 + m4 - m5 + m7, m3 + m5], dim=1)
    bottom = torch.cat([m2 + m4, m1 - m2 + m3 + m6], dim=1)
    return torch.cat([top, bottom])


def _quarters(matrix: torch.Tensor) -> tuple[tuple[torch.Tensor, ...], ...]:
    return tuple(half.chunk(2, dim=1) for half in matrix.chunk(2))


def classical_operations(n: int) -> Operations:
    """What the usual product of two n × n matrices takes.

    >>> classical_operations(2)
    Operations(multiplications=8, additions=4)
    """
    return Operations(n**3, n**3 - n**2)


def strassen_operations(n: int, levels: int = 1) -> Operations:
    """What `strassen_product` takes: on each level 7 products of half the side, and 18 additions of such blocks.

    >>> strassen_operations(2)
    Operations(multiplications=7, additions=18)
    """
    if levels == 0:
        return classical_operations(n)
    half = strassen_operations(n // 2, levels - 1)
    return Operations(7 * half.multiplications, 7 * half.additions + 18 * (n // 2) ** 2)
