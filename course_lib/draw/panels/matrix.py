"""Matrices: a colored cell for each row and column."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from course_lib.draw.colors import COLORS, ink_on
from course_lib.draw.panels.drawing import (
    FAINT,
    INK,
    NARROW_PX,
    Box,
    Boxes,
    Drawing,
    Key,
    Marks,
    Ring,
    Shape,
    Text,
    apart,
    below,
    room_px,
    rows_down,
    text_at,
    text_width_px,
    touch,
)
from course_lib.draw.panels.panel import Panel
from course_lib.draw.style import every, spread

_HIGH = 170.0


class Cell(NamedTuple):
    """The color of a cell, the text in it, whether it is outlined, and a symbol in it."""

    color: str
    text: str = ""
    now: bool = False
    symbol: str = ""


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
    outline: str = COLORS["vermillion"]
    here: tuple[float, float] | None = None
    keys: Sequence[Key] = ()
    ends: bool = False
    min_px: float = 10.0

    def drawing(self, width_px: float = NARROW_PX) -> Drawing:
        top = 20.0 if self.down else 0.0
        high = min(30.0, max(self.min_px, _HIGH / len(self.cells)))
        names, left = rows_down(self.row_names, high, top)
        bottom = top + len(self.cells) * high
        ticks = self._ticks(room_px(left, width_px)).items()
        names += [text_at(place, bottom + 12, text, left, FAINT, width_px=width_px) for place, text in ticks]
        names += [below(bottom + 28, self.across, left, width_px), Text(0, 8, self.down, "start", FAINT, -6)]
        shapes = [*self._fills(top, high), *self._signs(top, high)]
        if self.here is not None:
            shapes.append(Ring((self.here[0] + 0.5) * self._each, top + (self.here[1] + 0.5) * high))
        return Drawing(bottom + 36, left, [*shapes, *names], list(self.keys))

    @property
    def _each(self) -> float:
        """The width of a column."""
        return 1 / max(len(self.column_names), 1)

    def _fills(self, top: float, high: float) -> Iterator[Boxes]:
        fills: dict[str, list[Box]] = defaultdict(list)
        side = self.gap_px / 2
        for row, cells in enumerate(self.cells):
            for column, run in enumerate(_runs(cells, join=not self.gap_px)):
                if run:
                    box = column * self._each, top + row * high + side, run * self._each, high - 2 * side
                    fills[cells[column].color].append(box)
        edge = "paper" if self.gap_px and len(self.column_names) <= 32 else "none"
        for color, where in fills.items():
            # Cells that touch get a thin line of their own color, or the background shows between them.
            yield Boxes(where, color, edge, 1.0) if self.gap_px else Boxes(where, color, color, 0.6)

    def _signs(self, top: float, high: float) -> Iterator[Shape]:
        """What is in cells: outlines, symbols, texts."""
        outlined: list[Box] = []
        texts: list[Text] = []
        symbols: dict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
        each = self._each
        for row, cells in enumerate(self.cells):
            for column, cell in enumerate(cells):
                x, y = column * each, top + row * high
                ink = ink_on(cell.color) if cell.color.startswith("#") else INK
                if cell.now:
                    outlined.append((x + 0.05 * each, y + 2, 0.9 * each, high - 4))
                if cell.symbol:
                    symbols[cell.symbol, ink].append((x + each / 2, y + high / 2))
                if cell.text:
                    needed = (text_width_px(cell.text) + 2) / each if self.gap_px else 0.0
                    texts.append(Text(x + each / 2, y + high / 2, cell.text, color=ink, from_px=needed))
        yield from [Boxes(outlined, "none", self.outline, 2.5)] if outlined else []
        yield from (Marks(places, color, symbol, size_px=6.0) for (symbol, color), places in symbols.items())
        yield from texts

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
