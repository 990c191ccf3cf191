"""Lines: one number against another."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from course_lib.draw.looks import Look, looks_of
from course_lib.draw.panels.axes import Axis
from course_lib.draw.panels.drawing import Curve, Drawing, Key, Ring, Shape, Words, beside, frame, left_of
from course_lib.draw.panels.panel import Panel

__all__ = ["Line", "Lines"]

_TOP, _BOTTOM = 26.0, 160.0
_Point = tuple[float, float]


class Line(NamedTuple):
    """The points of one line, and its color and dash where the course's table of looks has none for its name.

    With `dots` each point is a dot and no line joins them: what was measured beside what is computed.
    """

    x: Sequence[float]
    y: Sequence[float]
    color: str = ""
    dash: tuple[float, ...] = ()
    dots: bool = False


@dataclass(frozen=True, kw_only=True)
class Lines(Panel):
    """Lines by name on two axes. Where a line leaves the axes it ends at the edge, with an arrowhead.

    Attributes:
        here: a point to ring: where the controls stand.
        notes: words below points, or above those close to the axis: (x, y) -> text.
    """

    lines: Mapping[str, Line]
    x: Axis
    y: Axis
    here: _Point | None = None
    notes: Mapping[_Point, str] | None = None

    def drawing(self) -> Drawing:
        looks = looks_of(self.lines)
        shapes: list[Shape] = []
        keys = []
        for name, line in self.lines.items():
            color, dash = (line.color, line.dash) if line.color else (looks[name].color, _dash(looks[name]))
            places = [self._place(x, y) for x, y in zip(line.x, line.y, strict=True)]
            keys.append(Key(name, color, None if line.dots else dash))
            if line.dots:
                shapes += [Ring(x, _down(y), 2.0, ((4.0, color),)) for x, y in places if 0 <= y <= 1]
                continue
            for piece in _inside(places):
                shapes.append(Curve([(x, _down(y)) for x, y in piece], color, dash))
            shapes += [_arrowhead(x, y, color) for x, y in _exits(places)]
        if self.here is not None:
            x, y = self._place(*self.here)
            shapes.append(Ring(x, _down(y)) if 0 <= y <= 1 else _arrowhead(x, float(y > 0.5), "ink"))
        x_ticks = {self.x.share(value): text for value, text in self.x.ticks.items()}
        y_ticks = {_down(self.y.share(value)): text for value, text in self.y.ticks.items()}
        left = left_of(y_ticks.values())
        around = frame(_BOTTOM, left, x_ticks, self.x.name, y_ticks, self.y.name)
        return Drawing(_BOTTOM + 36, left, [*around, *shapes, *self._notes(left)], keys)

    def _notes(self, left: float) -> Iterator[Words]:
        """Each note below its point, or above it where the ticks are close."""
        for point, text in (self.notes or {}).items():
            x, y = self._place(*point)
            if 0 <= y <= 1:
                down = _down(y)
                away, head = (1, "▲") if down + 38 <= _BOTTOM else (-1, "▼")
                yield Words(x, down + 18 * away, head)
                yield beside(x, down + 32 * away, text, left, free_px=-4)

    def _place(self, x: float, y: float) -> _Point:
        return self.x.share(x), self.y.share(y)


def _down(share: float) -> float:
    return _BOTTOM - share * (_BOTTOM - _TOP)


def _inside(points: Sequence[_Point]) -> Iterator[list[_Point]]:
    """The pieces of a line that lie between heights 0 and 1, cut where it crosses them.

    >>> list(_inside([(0.0, 0.5), (0.5, 1.5), (1.0, 0.5)]))
    [[(0.0, 0.5), (0.25, 1.0)], [(0.75, 1.0), (1.0, 0.5)]]
    """
    piece: list[_Point] = [points[0]] if points and 0 <= points[0][1] <= 1 else []
    for (x0, y0), (x1, y1) in itertools.pairwise(points):
        if math.isfinite(y0) and math.isfinite(y1):
            crossings = sorted(((edge - y0) / (y1 - y0), edge) for edge in (0.0, 1.0) if (y0 - edge) * (y1 - edge) < 0)
            for share, edge in crossings:
                piece.append((x0 + share * (x1 - x0), edge))
                if len(piece) > 1:
                    yield piece
                    piece = []
        if 0 <= y1 <= 1:
            piece.append((x1, y1))
        elif piece:
            yield piece
            piece = []
    if piece:
        yield piece


def _exits(points: Sequence[_Point]) -> list[_Point]:
    """Where a line leaves the heights 0 to 1: the last place inside, at the edge that it crosses; its start if there.

    >>> _exits([(0.0, 0.5), (0.5, 1.5), (1.0, 2.0)])
    [(0.25, 1.0)]
    """
    found = [(x, float(y > 1)) for x, y in points[:1] if not 0 <= y <= 1]
    for (x0, y0), (x1, y1) in itertools.pairwise(points):
        if 0 <= y0 <= 1 and not 0 <= y1 <= 1:
            edge = float(y1 > 1) if not math.isnan(y1) else 1.0
            cut = x0 + (edge - y0) / (y1 - y0) * (x1 - x0) if math.isfinite(y1) else x0
            found.append((cut, edge))
    return found


def _arrowhead(x: float, edge: float, color: str) -> Words:
    """A mark at the edge that a line leaves by."""
    return Words(x, _down(edge) + (4 if edge else -4), "▲" if edge else "▼", color=color)


def _dash(look: Look) -> tuple[float, ...]:
    """A dash of matplotlib's, which counts in line widths, in pixels."""
    return () if look.dash == "solid" else tuple(2 * part for part in look.dash[1])
