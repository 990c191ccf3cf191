"""Lines: one number against another."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from course_lib.draw.colors import Look, looks_of
from course_lib.draw.panels.drawing import (
    BAND,
    FAINT,
    FREE_PX,
    NARROW_PX,
    Boxes,
    Drawing,
    Key,
    Marks,
    Polyline,
    Ring,
    Shape,
    Text,
    flags,
    flags_px,
    frame,
    left_of,
    text_at,
    text_width_px,
)
from course_lib.draw.panels.panel import Panel, PanelAxis

_TOP, _HIGH = 26.0, 134.0
_PAGE = 700.0  # no panel is much wider
_ZONES = 16.0  # above the lines, for the words of zones
_Point = tuple[float, float]
# The ways to draw a line: whether its points are joined, and the symbol at each (None: that of its name).
_WAYS: dict[str, tuple[bool, str | None]] = {
    "line": (True, ""),
    "band": (True, ""),
    "dots": (False, None),
    "open dots": (False, None),
    "crosses": (False, "x"),
    "line and dots": (True, None),
    "area": (True, ""),
}


class Line(NamedTuple):
    """The points of one line, and its color and dash where the course's table of looks has none for its name.

    Attributes:
        drawn: "line"; "band" (wide and pale, for another to lie on); "dots", "open dots" or "crosses", which no line
            joins; "line and dots"; "area" (steps, and what lies below them).
        symbol: of its dots, where it is not that of its name.
        size_px: of its dots.
    """

    x: Sequence[float]
    y: Sequence[float]
    color: str = ""
    dash: tuple[float, ...] = ()
    drawn: str = "line"
    symbol: str = ""
    size_px: float = 9.0


@dataclass(frozen=True, kw_only=True)
class Lines(Panel):
    """Lines by name on two axes. Where a line leaves the axes it ends at the edge, with an arrowhead.

    Attributes:
        lines: a name may have several lines, drawn in different ways; they have its color. One without any keeps others
            from its look.
        here: a point to ring: where the controls stand.
        notes: words below points, or above those close to the axis: (x, y) -> text.
        flags: words -> the x of a dotted line below them.
        zones: words -> from where to where, and the color that lies behind all lines there ("none": no other);
            the words stand above the lines.
        called: a name -> what the legend says for it.
        keys: more entries of the legend.
        height_px: of the room for lines.
        grid: thin lines at the ticks of "x", "y" or both.
    """

    lines: Mapping[str, Line | Sequence[Line]]
    x: PanelAxis
    y: PanelAxis
    here: _Point | None = None
    notes: Mapping[_Point, str] | None = None
    flags: Mapping[str, float] = field(default_factory=dict)
    zones: Mapping[str, tuple[float, float, str]] = field(default_factory=dict)
    called: Mapping[str, str] = field(default_factory=dict)
    keys: Sequence[Key] = ()
    height_px: float = _HIGH
    grid: str = ""

    def drawing(self, width_px: float = NARROW_PX) -> Drawing:
        left = left_of(self.y.ticks.values())
        flagged = {name: self.x.share(place) for name, place in self.flags.items()}
        zones_px = _ZONES if self.zones else 0.0
        top = _TOP + flags_px(flagged, left, width_px) + zones_px
        bottom = top + self.height_px
        x_ticks = {self.x.share(value): text for value, text in self.x.ticks.items()}
        y_ticks = {self._down(self.y.share(value), bottom): text for value, text in self.y.ticks.items()}
        shapes: list[Shape] = list(self._zones(top, bottom))
        shapes += frame(
            bottom, left, x_ticks, self.x.name, y_ticks, self.y.name, top=top, width_px=width_px, grid=self.grid
        )
        shapes += flags(flagged, top - zones_px, bottom, left, width_px)
        keys: list[Key] = []
        drawn: list[Shape] = []
        for (name, lines), look in zip(self._by_name().items(), looks_of(self.lines).values(), strict=True):
            if not lines:
                continue
            color, dash = (lines[0].color, lines[0].dash) if lines[0].color else (look.color, _dash(look))
            symbol = lines[0].symbol or look.marker
            keys.append(_key(self.called.get(name, name), lines, color, dash, symbol))
            for line in lines:
                drawn += self._drawn(line, color, dash, symbol, bottom)
        shapes += sorted(drawn, key=_layer)
        if self.here is not None:
            x, y = self._place(*self.here)
            at_edge = _arrowhead(x, self._down(float(y > 0.5), bottom), y > 0.5, "ink")
            shapes.append(Ring(x, self._down(y, bottom)) if 0 <= y <= 1 else at_edge)
        return Drawing(bottom + 36, left, [*shapes, *self._notes(left, bottom, width_px)], [*keys, *self.keys])

    def _by_name(self) -> dict[str, list[Line]]:
        return {name: [line] if isinstance(line, Line) else list(line) for name, line in self.lines.items()}

    def _drawn(self, line: Line, color: str, dash: tuple[float, ...], symbol: str, bottom: float) -> Iterator[Shape]:
        """Its pieces, its symbols, and its arrowheads."""
        joined, dots = _WAYS[line.drawn]
        places = [self._place(x, y) for x, y in zip(line.x, line.y, strict=True)]
        if joined:
            look = BAND if line.drawn == "band" else {}
            for piece in _inside(places):
                points = [(x, self._down(y, bottom)) for x, y in piece]
                yield Polyline(points, color, () if look else dash, **look)
            for x, edge in _exits(places):
                yield _arrowhead(x, self._down(edge, bottom), edge == 1, color)
        if line.drawn == "area":
            for (x, y), (end, _) in itertools.pairwise(places):
                y = min(max(y, 0.0), 1.0)
                yield Boxes([(x, self._down(y, bottom), end - x, y * self.height_px)], color, opacity=0.35)
        if dots != "":
            points = [(x, self._down(y, bottom)) for x, y in places if 0 <= y <= 1]
            yield Marks(points, color, dots or symbol, line.drawn == "open dots", line.size_px)

    def _zones(self, top: float, bottom: float) -> Iterator[Shape]:
        for words, (low, high, color) in self.zones.items():
            x, end = max(self.x.share(low), 0.0), min(self.x.share(high), 1.0)
            if x < end:
                yield Boxes([(x, top, end - x, bottom - top)], color)
                yield Polyline([(x, top), (x, bottom)], FAINT if x else "none", (2, 3), 1.0)
                needed = (text_width_px(words) + 8) / (end - x)
                last = end == 1 and needed > _PAGE  # so narrow a zone has its words beside it
                yield (
                    Text(1, top - 8, words, "end", dx_px=FREE_PX)
                    if last
                    else Text((x + end) / 2, top - 8, words, from_px=needed)
                )

    def _notes(self, left: float, bottom: float, width_px: float) -> Iterator[Text]:
        """Each note below its point, or above it where the ticks are close."""
        for point, text in (self.notes or {}).items():
            x, y = self._place(*point)
            if 0 <= y <= 1:
                down = self._down(y, bottom)
                away, head = (1, "▲") if down + 38 <= bottom else (-1, "▼")
                yield Text(x, down + 18 * away, head)
                yield text_at(x, down + 32 * away, text, left, free_px=-4, width_px=width_px)

    def _place(self, x: float, y: float) -> _Point:
        return self.x.share(x), self.y.share(y)

    def _down(self, share: float, bottom: float) -> float:
        return bottom - share * self.height_px


def _key(name: str, lines: Sequence[Line], color: str, dash: tuple[float, ...], symbol: str) -> Key:
    """A name's entry in the legend: its line if one of its lines is joined, its symbol if one has dots."""
    drawn = {line.drawn for line in lines}
    joined = any(_WAYS[way][0] for way in drawn)
    dots = {_WAYS[way][1] for way in drawn}
    shown = symbol if None in dots else "x" if "x" in dots else ""
    band = drawn == {"band"}
    return Key(name, color, (() if band else dash) if joined else None, shown, drawn == {"open dots"}, band)


def _layer(shape: Shape) -> int:
    """Bands lie behind lines, and marks on them."""
    if isinstance(shape, Marks):
        return 2
    return 0 if isinstance(shape, Polyline | Boxes) and shape.opacity < 1 else 1


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


def _arrowhead(x: float, y: float, upward: bool, color: str) -> Text:
    """A mark at the edge that a line leaves by."""
    return Text(x, y + (4 if upward else -4), "▲" if upward else "▼", color=color)


def _dash(look: Look) -> tuple[float, ...]:
    """A dash of matplotlib's, which counts in line widths, in pixels."""
    return () if look.dash == "solid" else tuple(2 * part for part in look.dash[1])
