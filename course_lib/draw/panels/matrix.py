"""Matrices: a colored cell for each row and column."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from course_lib.draw.colors import ink_on
from course_lib.draw.panels.drawing import (
    FAINT,
    Box,
    Boxes,
    Drawing,
    Key,
    Ring,
    Shape,
    Words,
    below,
    beside,
    room_px,
    rows_down,
)
from course_lib.draw.panels.letters import apart, touch, wide_px
from course_lib.draw.panels.panel import Panel
from course_lib.draw.style import every, spread

__all__ = ["Cell", "Matrix"]

_HIGH = 170.0


class Cell(NamedTuple):
    """The color of a cell, the text in it, and whether it is outlined."""

    color: str
    text: str = ""
    now: bool = False


@dataclass(frozen=True, kw_only=True)
class Matrix(Panel):
    """Cells by row and column, with the names of both.

    Attributes:
        gap_px: between cells; 0 joins them.
        here: (column, row) of a place to ring, counted in cells from the middle of the first.
        keys: the legend.
        ends: name only some columns, both ends among them; else every second, third, ... from the first.
        min_px: no row is lower.
    """

    cells: Sequence[Sequence[Cell]]
    row_names: Sequence[str]
    column_names: Sequence[str]
    across: str
    down: str = ""
    gap_px: float = 1.0
    outline: str = "#d55e00"
    here: tuple[float, float] | None = None
    keys: Sequence[Key] = ()
    ends: bool = False
    min_px: float = 10.0

    def drawing(self) -> Drawing:
        rows, columns = len(self.cells), max(len(self.column_names), 1)
        top, wide = 20.0 if self.down else 0.0, 1 / columns
        high = min(30.0, max(self.min_px, _HIGH / rows))
        fills: dict[str, list[Box]] = defaultdict(list)
        outlined: list[Box] = []
        texts: list[Shape] = []
        runs = [_runs(cells, join=not self.gap_px) for cells in self.cells]
        for row, cells in enumerate(self.cells):
            for column, cell in enumerate(cells):
                x = column * wide
                y = top + row * high
                side = self.gap_px / 2
                run = runs[row][column]
                if run:
                    fills[cell.color].append((x, y + side, run * wide, high - 2 * side))
                if cell.now:
                    outlined.append((x + 0.05 * wide, y + 2, 0.9 * wide, high - 4))
                if cell.text:
                    ink, needed = ink_on(cell.color), (wide_px(cell.text) + 2) * columns if self.gap_px else 0.0
                    texts.append(Words(x + wide / 2, y + high / 2, cell.text, color=ink, from_px=needed))
        names, left = rows_down(self.row_names, high, top)
        edge = "paper" if self.gap_px and columns <= 32 else "none"
        # Cells that touch get a thin line of their own color, or the background shows between them.
        lines = [(edge, 1.0) if self.gap_px else (color, 0.6) for color in fills]
        body: list[Shape] = [
            Boxes(where, color, *line) for (color, where), line in zip(fills.items(), lines, strict=True)
        ]
        body += [Boxes(outlined, "none", self.outline, 2.5)] if outlined else []
        if self.here is not None:
            body.append(Ring((self.here[0] + 0.5) * wide, top + (self.here[1] + 0.5) * high))
        bottom = top + rows * high
        ticks = self._ticks(room_px(left)).items()
        names += [beside(place, bottom + 12, text, left, FAINT) for place, text in ticks]
        names += [below(bottom + 28, self.across, left), Words(0, 8, self.down, "start", FAINT, -6)]
        return Drawing(bottom + 36, left, [*body, *texts, *names], list(self.keys))

    def _ticks(self, room: float) -> dict[float, str]:
        """The names of as many columns as have room, by their place."""
        names = {(column + 0.5) / len(self.column_names): name for column, name in enumerate(self.column_names)}
        places = list(names)
        if not self.ends:
            return apart({places[c]: names[places[c]] for c in every(len(places), 12)}, room)
        choices = ({places[c]: names[places[c]] for c in spread(len(places), most)} for most in range(6, 1, -1))
        return next((few for few in choices if not touch(few, room)), {})


def _runs(cells: Sequence[Cell], join: bool) -> list[int]:
    """How many cells are drawn as one from each on: neighbors of one color where they are joined, else each by itself.

    >>> _runs([Cell("red"), Cell("red"), Cell("blue")], join=True)
    [2, 0, 1]
    """
    if not join:
        return [1] * len(cells)
    runs = [0] * len(cells)
    first = 0
    for column, cell in enumerate(cells):
        if cell.color != cells[first].color:
            first = column
        runs[first] += 1
    return runs
