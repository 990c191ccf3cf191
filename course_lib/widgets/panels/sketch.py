"""Sketches: shapes where they are put, for a mechanism that no chart shows, and who holds what in the ranks' colors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from course_lib.draw.model_parallel.splits import RANK_COLORS
from course_lib.widgets.drawing import PAPER, QUIET, Box, Boxes, Drawing, Key, Shape
from course_lib.widgets.panels.panel import Panel

__all__ = ["COLUMNS", "ROWS", "WHOLE", "Sketch", "cut", "rank_keys"]

ROWS = "rows"
COLUMNS = "columns"
WHOLE = "whole"
_SEEN_APART, _APART_PX = 8, 6.0  # more parts, or lower ones, have no room for lines between them


@dataclass(frozen=True, kw_only=True)
class Sketch(Panel):
    """Shapes in a room `height_px` high, with `left_px` beside it."""

    shapes: Sequence[Shape]
    height_px: float
    left_px: float = 4.0
    keys: Sequence[Key] = ()

    def drawing(self) -> Drawing:
        return Drawing(self.height_px, self.left_px, list(self.shapes), list(self.keys))


def cut(box: Box, way: str, ranks: int) -> list[Shape]:
    """A box cut into a part for each rank, ROWS below or COLUMNS beside each other; or WHOLE, which all ranks have.

    >>> [part.where for part in cut((0.0, 10.0, 1.0, 20.0), ROWS, 2)]
    [[(0.0, 10.0, 1.0, 10.0)], [(0.0, 20.0, 1.0, 10.0)]]
    """
    if way == WHOLE:
        return [Boxes([box], QUIET)]
    x, y, wide, high = box
    across, down = (wide / ranks, 0.0) if way == COLUMNS else (0.0, high / ranks)
    size = (across or wide), (down or high)
    parts = [(x + rank * across, y + rank * down, *size) for rank in range(ranks)]
    apart = 1 < ranks <= _SEEN_APART and size[1] >= _APART_PX
    colors = len(RANK_COLORS)
    return [
        Boxes(parts[first::colors], RANK_COLORS[first], PAPER if apart else "none")
        for first in range(min(colors, ranks))
    ]


def rank_keys(ranks: int) -> list[Key]:
    """What the colors of `cut` mean; they begin anew where there are more ranks.

    >>> [key.text for key in rank_keys(6)]
    ['rank 0, 4', 'rank 1, 5', 'rank 2', 'rank 3', 'whole on every rank']
    """
    colors = len(RANK_COLORS)
    alike = [range(first, ranks, colors) for first in range(min(colors, ranks))]
    names = [", ".join(map(str, same[:2])) + (", …" if len(same) > 2 else "") for same in alike]
    keys = [Key(f"rank {name}", RANK_COLORS[first]) for first, name in enumerate(names)]
    return [*keys, Key("whole on every rank", QUIET)]
