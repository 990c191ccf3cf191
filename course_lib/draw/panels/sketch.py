"""Sketches: shapes where they are put, for a mechanism that no chart shows, and who holds what in the ranks' colors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from course_lib.draw.colors import RANK_COLORS
from course_lib.draw.panels.drawing import PAPER, QUIET, Box, Boxes, Drawing, Key, Shape
from course_lib.draw.panels.letters import NARROW_PX
from course_lib.draw.panels.panel import Panel

__all__ = ["COLUMNS", "ROWS", "WHOLE", "Sketch", "band_ranks", "cut", "rank_keys"]

ROWS = "rows"
COLUMNS = "columns"
WHOLE = "whole"
_MOST = 16  # bands: more cannot be told from each other
_SEEN_APART, _APART_PX = 8, 6.0  # more parts, or lower ones, have no room for lines between them


@dataclass(frozen=True, kw_only=True)
class Sketch(Panel):
    """Shapes in a room `height_px` high, with `left_px` beside it."""

    shapes: Sequence[Shape]
    height_px: float
    left_px: float = 4.0
    keys: Sequence[Key] = ()

    def drawing(self, wide: float = NARROW_PX) -> Drawing:
        return Drawing(self.height_px, self.left_px, list(self.shapes), list(self.keys))


def cut(box: Box, way: str, ranks: int) -> list[Shape]:
    """A box cut into a band for each rank (or for each few), ROWS below or COLUMNS beside each other; or WHOLE.

    >>> [part.where for part in cut((0.0, 10.0, 1.0, 20.0), ROWS, 2)]
    [[(0.0, 10.0, 1.0, 10.0)], [(0.0, 20.0, 1.0, 10.0)]]
    """
    if way == WHOLE:
        return [Boxes([box], QUIET)]
    x, y, wide, high = box
    share, bands = band_ranks(ranks) / ranks, -(-ranks // band_ranks(ranks))
    shares = [(band * share, min(share, 1 - band * share)) for band in range(bands)]
    if way == COLUMNS:
        parts = [(x + first * wide, y, part * wide, high) for first, part in shares]
    else:
        parts = [(x, y + first * high, wide, part * high) for first, part in shares]
    apart = 1 < bands <= _SEEN_APART and parts[0][3] >= _APART_PX
    colors = len(RANK_COLORS)
    edge = PAPER if apart else "none"
    return [Boxes(parts[first::colors], RANK_COLORS[first], edge) for first in range(min(colors, bands))]


def band_ranks(ranks: int) -> int:
    """How many ranks a band of `cut` stands for: one, unless there are more than 16."""
    return -(-ranks // _MOST)


def rank_keys(ranks: int) -> list[Key]:
    """What the colors of `cut` mean; they begin anew where there are more bands.

    >>> [key.text for key in rank_keys(6)]
    ['rank 0, 4', 'rank 1, 5', 'rank 2', 'rank 3', 'whole on every rank']
    >>> rank_keys(64)[1].text
    'rank 4–7, 20–23, …'
    """
    band, colors = band_ranks(ranks), len(RANK_COLORS)
    firsts = range(0, ranks, band)
    names = [str(first) if band == 1 else f"{first}–{min(first + band, ranks) - 1}" for first in firsts]
    alike = [names[color::colors] for color in range(min(colors, len(names)))]
    texts = [", ".join(same[:2]) + (", …" if len(same) > 2 else "") for same in alike]
    keys = [Key(f"rank {text}", RANK_COLORS[color]) for color, text in enumerate(texts)]
    return [*keys, Key("whole on every rank", QUIET)]
