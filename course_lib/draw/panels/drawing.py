"""Shapes that panels are made of (boxes, lines, marks, text), how much room text needs, and axes and labels.

They are drawn as SVG live and by matplotlib in a picture. A panel may be narrow: no text may lie on another or beyond
its panel.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import NamedTuple

from matplotlib import font_manager
from PIL import ImageFont

from course_lib.draw.colors import INK as DARK
from course_lib.draw.style import every

FONT_PX = 12.0
NARROW_PX = 273.0  # of a panel beside others, at least
FREE_PX = 14.0  # at the right of each drawing, for what reaches beyond it
_GAP_PX = 8.0  # between two words
_FINE = 10  # a font is measured so many times larger


@lru_cache(maxsize=4096)
def text_width_px(text: str) -> float:
    """The width of a text in DejaVu Sans, one of the widest fonts that browsers take.

    >>> round(text_width_px("10,000"))
    42
    """
    return _font().getlength(text) / _FINE


def apart(ticks: Mapping[float, str], room_px: float) -> dict[float, str]:
    """The ticks (share -> text) that fit into so much room without touching: all, or every second, third, ...

    >>> apart({0.0: "0", 0.4: "1000", 0.8: "2000"}, 60)
    {0.0: '0', 0.8: '2000'}
    """
    places = sorted(ticks)
    every = (places[::step] for step in range(1, len(places) + 1))
    few = next((few for few in every if not touch({place: ticks[place] for place in few}, room_px)), [])
    return {place: ticks[place] for place in few}


def touch(ticks: Mapping[float, str], room_px: float) -> bool:
    """Whether two of these texts (share -> text), from left to right, are too close to each other in so much room."""
    ends = [reach_px(place, text, room_px) for place, text in ticks.items()]
    return any(right + _GAP_PX > left for (_, right), (left, _) in itertools.pairwise(ends))


def reach_px(share: float, text: str, room_px: float) -> tuple[float, float]:
    """From where to where a text reaches that is centered at a share of the room, or ends at what is free beside it.

    >>> reach_px(0.5, "", 200), reach_px(1.0, "12345", 200)[1]
    ((100.0, 100.0), 214.0)
    """
    width_px = text_width_px(text)
    right = min(share * room_px + width_px / 2, room_px + FREE_PX)
    return right - width_px, right


@cache
def _font() -> ImageFont.FreeTypeFont:
    return ImageFont.truetype(font_manager.findfont("DejaVu Sans"), _FINE * FONT_PX)


# Colors that a live explorer takes from the page's theme and a still from its white card.
INK = "ink"
FAINT = "faint"
PAPER = "paper"
QUIET = "quiet"  # of what rests: bars and boxes beside those that matter
LINED = "lined"  # of the thin lines at ticks

BAND = {"width_px": 8.0, "opacity": 0.35}  # of a curve that another may lie on
SAMPLE_PX = (24.0, 12.0)  # room of what a legend shows before its words

Box = tuple[float, float, float, float]  # left (share), top (pixels), width (share), height (pixels)


class Boxes(NamedTuple):
    """Any number of boxes of one color, with a line of color `edge` around each; pictures hatch them as matplotlib
    would, live ones do not."""

    where: Sequence[Box]
    color: str = "none"
    edge: str = "none"
    edge_px: float = 1.0
    opacity: float = 1.0
    hatch: str = ""


class Polyline(NamedTuple):
    """A line through points; `dash` in pixels, on and off in turn."""

    points: Sequence[tuple[float, float]]
    color: str
    dash: tuple[float, ...] = ()
    width_px: float = 2.0
    opacity: float = 1.0


class Marks(NamedTuple):
    """A symbol at each point, by matplotlib's letter for it; an open one has the background's color inside."""

    points: Sequence[tuple[float, float]]
    color: str
    symbol: str = "o"
    open: bool = False
    size_px: float = 9.0


class Ring(NamedTuple):
    """A ring around a point, to be seen on any color."""

    x: float
    y: float
    radius_px: float = 8.0
    looks: tuple[tuple[float, str], ...] = ((6.0, "#ffffff"), (2.5, DARK))


class Text(NamedTuple):
    """Text whose middle line lies at y; `dx_px` moves it to the right, and a drawing with less room than `from_px`
    leaves it out."""

    x: float
    y: float
    text: str
    anchor: str = "middle"  # or "start", "end"
    color: str = INK
    dx_px: float = 0.0
    bold: bool = False
    from_px: float = 0.0


Shape = Boxes | Polyline | Marks | Ring | Text


class Key(NamedTuple):
    """An entry of a legend: a box; or a line if there is a dash (of no parts: a full line), a symbol, or both.

    A `band` is a line wide and pale enough for another to lie on.
    """

    text: str
    color: str
    dash: tuple[float, ...] | None = None
    symbol: str = ""
    open: bool = False
    band: bool = False
    hatch: str = ""

    def sample(self) -> list[Shape]:
        """What stands before the text, in a room of SAMPLE_PX."""
        width_px, height_px = SAMPLE_PX
        if self.dash is None and not self.symbol:
            return [Boxes([(7 / width_px, 1.0, 10 / width_px, height_px - 2)], self.color, FAINT, hatch=self.hatch)]
        middle = height_px / 2
        line = Polyline([(0.0, middle), (1.0, middle)], self.color, self.dash or (), **(BAND if self.band else {}))
        mark = Marks([(0.5, middle)], self.color, self.symbol, self.open)
        return [*([] if self.dash is None else [line]), *([mark] if self.symbol else [])]


@dataclass(frozen=True)
class Drawing:
    """Shapes in a room that is `height_px` high, with `left_px` beside it for the words that stand left of 0."""

    height_px: float
    left_px: float
    shapes: list[Shape]
    legend: list[Key] = field(default_factory=list)


def room_px(left_px: float, width_px: float = NARROW_PX) -> float:
    """What a panel of this width has for a drawing beside so much at the left."""
    return width_px - FREE_PX - left_px


def text_at(
    x: float,
    y: float,
    text: str,
    left_px: float,
    color: str = INK,
    free_px: float = FREE_PX,
    width_px: float = NARROW_PX,
) -> Text:
    """Text centered at x, or one that begins or ends close to it where it would reach out of a panel of this width;
    `free_px` at its left are free for them."""
    room, half = room_px(left_px, width_px), text_width_px(text) / 2
    if x * room + half > room + FREE_PX:
        return Text(x, y, text, "end", color, FREE_PX)
    return Text(x, y, text, "start", color, -free_px) if x * room + free_px < half else Text(x, y, text, color=color)


def frame(
    height: float,
    left: float,
    x_ticks: Mapping[float, str],
    x_name: str,
    y_ticks: Mapping[float, str],
    y_name: str,
    *,
    top: float | None = None,
    width_px: float = NARROW_PX,
    grid: str = "",
) -> list[Shape]:
    """Axes at the left, from `top`, and at the bottom (`height`) with ticks by their place, and names; 36 pixels below,
    26 above. Ticks that would touch in a panel of this width are left out.

    Args:
        grid: "x", "y" or both: thin lines at these ticks.
    """
    top = top if top is not None else 26.0 if y_name else 0.0
    named = apart(x_ticks, room_px(left, width_px))
    shapes: list[Shape] = [Polyline([(0, place), (1, place)], LINED, width_px=0.8) for place in y_ticks if "y" in grid]
    shapes += [Polyline([(place, top), (place, height)], LINED, width_px=0.8) for place in named if "x" in grid]
    shapes.append(Polyline([(0, top), (0, height), (1, height)], FAINT, width_px=1))
    shapes += [Polyline([(place, height), (place, height + 4)], FAINT, width_px=1) for place in named]
    shapes += [text_at(place, height + 13, text, left, FAINT, width_px=width_px) for place, text in named.items()]
    shapes += [Text(0, place, text, "end", FAINT, -6) for place, text in y_ticks.items()]
    shapes.append(below(height + 29, x_name, left, width_px))
    return [*shapes, Text(0, 8, y_name, "start", FAINT, -6)] if y_name else shapes


def rows_down(names: Sequence[str], height_px: float, top: float = 0.0) -> tuple[list[Shape], float]:
    """The names of rows, as many as have room, and the pixels that they need at the left."""
    shown = [(row, names[row]) for row in every(len(names), max(int(len(names) * height_px / FONT_PX), 1))]
    shapes: list[Shape] = [Text(0, top + (row + 0.5) * height_px, name, "end", FAINT, -6) for row, name in shown]
    return shapes, left_of(name for _, name in shown)


def left_of(names: Iterable[str]) -> float:
    """The pixels that texts need that end at the left edge of a drawing."""
    return 14 + max(map(text_width_px, names), default=0.0)


def below(y: float, name: str, left: float, width_px: float = NARROW_PX) -> Text:
    """An axis's name in the middle, or up to the right edge where it has no room there."""
    if text_width_px(name) <= room_px(left, width_px) + 2 * FREE_PX:
        return Text(0.5, y, name, color=FAINT)
    return Text(1, y, name, "end", FAINT, FREE_PX)


_FLAG_PX = 14.0


def flags(
    places: Mapping[str, float],
    top: float,
    bottom: float,
    left: float,
    width_px: float,
    color: str = FAINT,
    dash: tuple[float, ...] = (2, 3),
) -> list[Shape]:
    """Dotted lines at places across, down to `bottom`, each with its words above `top`, in as many rows as they need:
    at its left, or at its right where there is no room."""
    shapes: list[Shape] = []
    for row, names in enumerate(_flag_rows(places, left, width_px)):
        y = top - 8 - _FLAG_PX * row
        for name in names:
            x, fits = places[name], _fits_left(places[name], name, left, width_px)
            shapes.append(Polyline([(x, y - 5), (x, bottom)], color, dash, 1.5))
            shapes.append(Text(x, y, name, "end" if fits else "start", INK, -4 if fits else 4))
    return shapes


def flags_px(places: Mapping[str, float], left: float, width_px: float) -> float:
    """The height that the words of `flags` need."""
    return _FLAG_PX * len(_flag_rows(places, left, width_px))


def _flag_rows(places: Mapping[str, float], left: float, width_px: float) -> list[list[str]]:
    """Names from left to right, the lowest row first: no line goes through the words of a row below."""
    rows: list[list[str]] = []
    ends: list[float] = []
    for name in sorted(places, key=lambda name: places[name]):
        at, needed = places[name] * room_px(left, width_px), text_width_px(name) + 8
        begin, end = (at - needed, at) if _fits_left(places[name], name, left, width_px) else (at, at + needed)
        row = next((row for row, taken in enumerate(ends) if taken <= begin), len(rows))
        if row == len(rows):
            rows.append([])
            ends.append(0.0)
        rows[row].append(name)
        ends[row] = end
    return rows


def _fits_left(x: float, name: str, left: float, width_px: float) -> bool:
    return text_width_px(name) + 4 <= x * room_px(left, width_px) + left
