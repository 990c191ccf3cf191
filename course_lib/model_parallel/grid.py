"""Ranks in rows and columns: the grid on which matrices are multiplied.

rank 0  1  2      row 0
rank 3  4  5      row 1
"""

from __future__ import annotations

import torch

from course_lib.comm import Communicator

__all__ = ["Grid"]


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
