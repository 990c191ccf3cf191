"""What the Cannon explorer computes: where each block is at a step, what is added, and what a rank has sent."""

from __future__ import annotations

import math
from typing import NamedTuple

from course_lib.model_parallel import cannon_elements_sent
from course_lib.model_parallel.layouts import part_lengths

__all__ = ["CannonSetting", "Turn", "turn_of"]


class CannonSetting(NamedTuple):
    """C = A B on the largest square of `world_size` ranks: A is [rows, inner], B is [inner, columns]."""

    world_size: int
    rows: int
    inner: int
    columns: int
    step: int

    @property
    def side(self) -> int:
        """Ranks in a row of the square."""
        return math.isqrt(self.world_size)

    @property
    def held(self) -> dict[str, int]:
        """Numbers of each matrix that the rank with the largest blocks holds."""
        m, k, n = (math.ceil(whole / self.side) for whole in (self.rows, self.inner, self.columns))
        return {"A": m * k, "B": k * n, "C": m * n}

    @property
    def most_sent(self) -> int:
        """Numbers that the busiest rank sends in all."""
        return max(cannon_elements_sent(self.rows, self.inner, self.columns, self.side**2))


class Turn(NamedTuple):
    """Where the blocks are at a step. Step 0 is how they were cut; in step k all multiply for the kth time.

    Attributes:
        a, b: by row and column of the ranks, the block of A and B there, as (row, column) of its matrix.
        added: numbers of the blocks of the shared side whose products are in C there.
        sent: numbers that each rank has sent so far, by row and column.
    """

    step: int
    a: list[list[tuple[int, int]]]
    b: list[list[tuple[int, int]]]
    added: list[list[list[int]]]
    sent: list[list[int]]

    @property
    def side(self) -> int:
        """Ranks in a row."""
        return len(self.a)

    @property
    def meeting(self) -> int:
        """How many ranks have an A and a B that belong together."""
        pairs = ((a, b) for rows in zip(self.a, self.b, strict=True) for a, b in zip(*rows, strict=True))
        return sum(a[1] == b[0] for a, b in pairs)


def turn_of(setting: CannonSetting) -> Turn:
    """The blocks at the setting's step, on the largest square of its ranks."""
    side = setting.side
    step = min(setting.step, side)
    lengths = [part_lengths(whole, side) for whole in (setting.rows, setting.inner, setting.columns)]

    def added(row: int, column: int) -> list[int]:
        return [(row + column + before) % side for before in range(step)]

    def block(row: int, column: int, own: int) -> int:
        return added(row, column)[-1] if step else own

    def sent(row: int, column: int) -> int:
        rows, inner, columns = lengths
        a = [*([column] if row else []), *added(row, column)[:-1]] if step and side > 1 else []
        b = [*([row] if column else []), *added(row, column)[:-1]] if step and side > 1 else []
        return rows[row] * sum(inner[each] for each in a) + columns[column] * sum(inner[each] for each in b)

    places = range(side)
    return Turn(
        step=step,
        a=[[(row, block(row, column, column)) for column in places] for row in places],
        b=[[(block(row, column, row), column) for column in places] for row in places],
        added=[[added(row, column) for column in places] for row in places],
        sent=[[sent(row, column) for column in places] for row in places],
    )
