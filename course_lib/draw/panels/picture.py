"""Tables and panels as a picture: the figures of pages, and explorers without a kernel."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.markers import MarkerStyle

from course_lib.draw.colors import CARD, COLORS, GRID, MUTED
from course_lib.draw.colors import INK as DARK
from course_lib.draw.panels.drawing import (
    FAINT,
    FREE_PX,
    INK,
    LINED,
    PAPER,
    QUIET,
    SAMPLE_PX,
    Boxes,
    Drawing,
    Key,
    Marks,
    Polyline,
    Ring,
    Shape,
    Text,
    text_width_px,
)
from course_lib.draw.panels.panel import Panel, Table
from course_lib.draw.panels.svg import narrow_html
from course_lib.draw.style import PAGE_IN, Picture, finish, new_picture, styled

_THEME = {INK: DARK, FAINT: MUTED, PAPER: CARD, QUIET: COLORS["gray"], LINED: GRID}
_PX_IN = 1 / 96
_PT = 72 / 96  # of a pixel
_EDGE = 6.0
_TOP = 8.0
_GAP = 16.0  # below each row
_TITLE = 22.0
_KEYS = 18.0
_LINE = 16.0
_FACTS = 40.0
_STRIP = 34.0  # for the origin
_Part = Panel | Table


class _Placed(NamedTuple):
    """A part, its drawing if it is a panel, and where it stands, in pixels."""

    part: _Part
    drawing: Drawing | None
    left: float
    width_px: float

    def high(self, shared: bool) -> float:
        if isinstance(self.part, Table):
            return _FACTS * (1 + max((row for row, *_ in _facts(self.part.facts, self.width_px)), default=-1))
        assert self.drawing is not None
        keys = 0.0 if shared else _keys_px(self.drawing.legend, self.width_px)
        return _title_px(self.part) + keys + self.drawing.height_px


@styled
def picture_of(
    parts: Sequence[_Part],
    *,
    alt: str,
    note: str = "",
    title: str = "",
    columns: int = 2,
    shares: Sequence[float] = (),
    width_in: float = PAGE_IN,
    shared: bool = False,
) -> Picture:
    """A picture of tables and panels below each other; panels that are not `wide` stand so many in a row, by shares.

    With `shared` there is one legend for all, below the title. The picture's `panels` are what it was made of.
    """
    whole = width_in / _PX_IN - 2 * _EDGE
    rows = list(_rows(parts, shares or [1 / columns] * columns, whole))
    drawings = [placed.drawing for row in rows for placed in row if placed.drawing is not None]
    keys = list(dict.fromkeys(key for drawing in drawings for key in drawing.legend)) if shared else []
    begin = _TOP + (_TITLE if title else 0.0)
    top = begin + (_keys_px(keys, whole) + 4.0 if keys else 0.0)
    heights = [max(placed.high(shared) for placed in row) for row in rows]
    high = top + sum(heights) + _GAP * (len(rows) - 1) + _STRIP
    picture = Picture(figsize=(width_in, high * _PX_IN))
    picture.panels = [part for part in parts if isinstance(part, Panel)]
    picture.narrow = narrow_html(parts, title=title, note=note, shared=shared)
    axes = picture.add_axes((0, 0, 1, 1), xlim=(0, width_in / _PX_IN), ylim=(high, 0))
    axes.set_axis_off()
    _text(axes, _EDGE, 16, title, fontsize=11, fontweight="bold")
    _legend(axes, keys, _EDGE, begin, whole)
    for row, height in zip(rows, heights, strict=True):
        for part, drawing, left, width_px in row:
            if isinstance(part, Table):
                _table(axes, part, left, top, width_px)
            elif drawing is not None:
                _panel(axes, part, drawing, left, top, width_px, shared)
        top += height + _GAP
    origins = dict.fromkeys(word for part in parts for word in part.origin.split(", "))
    return finish(picture, origin=", ".join(origins), alt=alt, note=note)


def picture_of_words(text: str, *, note: str = "") -> Picture:
    """A picture of text alone."""
    picture, axes = new_picture(7.0, 2.0)
    axes.set_axis_off()
    axes.text(0, 1, text[:600], va="top", family="monospace", fontsize=9, wrap=True)
    return finish(picture, origin="schematic", alt=text, note=note)


def _rows(parts: Sequence[_Part], shares: Sequence[float], whole: float) -> Iterator[list[_Placed]]:
    """What stands side by side."""
    waiting: list[_Placed] = []
    for part in parts:
        fills_row = isinstance(part, Table) or part.wide
        if waiting and (fills_row or len(waiting) == len(shares)):
            yield waiting
            waiting = []
        width_px = whole * (1.0 if fills_row else shares[len(waiting)])
        drawing = part.drawing(width_px) if isinstance(part, Panel) else None
        waiting.append(_Placed(part, drawing, _EDGE + sum(placed.width_px for placed in waiting), width_px))
        if fills_row:
            yield waiting
            waiting = []
    if waiting:
        yield waiting


def _title_px(part: Panel) -> float:
    return _TITLE + _LINE * part.title.count("\n") if part.title else 0.0


def _facts(facts: Mapping[str, str], width_px: float) -> Iterator[tuple[int, float, str, str]]:
    """Facts side by side, in as many rows as they need: (row, left edge, name, value)."""
    needed = [max(text_width_px(name), 1.12 * text_width_px(value)) + 20 for name, value in facts.items()]
    for (row, left), (name, value) in zip(_flow(needed, width_px), facts.items(), strict=True):
        yield row, left, name, value


def _flow(needed: Iterable[float], width_px: float) -> Iterator[tuple[int, float]]:
    """Where things of these widths stand, beside each other as long as there is room: (row, left edge).

    >>> list(_flow([40, 40, 40], 100))
    [(0, 0.0), (0, 40.0), (1, 0.0)]
    """
    row, left = 0, 0.0
    for each in needed:
        if left and left + each > width_px:
            row, left = row + 1, 0.0
        yield row, left
        left += each


def _keys(keys: Sequence[Key], width_px: float) -> list[tuple[int, float]]:
    return list(_flow([SAMPLE_PX[0] + 5 + text_width_px(key.text) + 14 for key in keys], width_px + 14))


def _keys_px(keys: Sequence[Key], width_px: float) -> float:
    return _KEYS * (1 + _keys(keys, width_px)[-1][0]) + 4 if keys else 0.0


def _legend(axes: Axes, keys: Sequence[Key], left: float, top: float, width_px: float) -> None:
    for key, (row, x) in zip(keys, _keys(keys, width_px), strict=True):
        place = left + x, top + _KEYS * row + 2
        for shape in key.sample():
            _shape(axes, shape, *place, SAMPLE_PX[0])
        _text(axes, place[0] + SAMPLE_PX[0] + 5, place[1] + SAMPLE_PX[1] / 2, key.text)


def _table(axes: Axes, table: Table, left: float, top: float, width_px: float) -> None:
    for row, x, name, value in _facts(table.facts, width_px):
        _text(axes, left + x, top + row * _FACTS + 9, name, color=MUTED)
        _text(axes, left + x, top + row * _FACTS + 26, value, fontweight="bold")


def _panel(axes: Axes, panel: Panel, drawing: Drawing, left: float, top: float, width_px: float, shared: bool) -> None:
    for line, text in enumerate(panel.title.split("\n")):
        size = 11 if panel.wide else 10
        _text(axes, left, top + 8 + _LINE * line, text, fontsize=size, fontweight="bold")
    top += _title_px(panel)
    if not shared:
        _legend(axes, drawing.legend, left, top, width_px)
        top += _keys_px(drawing.legend, width_px)
    room = width_px - drawing.left_px - FREE_PX - 12
    for shape in drawing.shapes:
        if not (isinstance(shape, Text) and shape.from_px > room):
            _shape(axes, shape, left + drawing.left_px, top, room)


def _shape(axes: Axes, shape: Shape, left: float, top: float, room: float) -> None:
    """A shape of a drawing that has so much room across, at a place in pixels, above all that is there."""
    above = {"zorder": 2 + len(axes.get_children())}
    if isinstance(shape, Boxes):
        boxes = ((left + x * room, top + y, w * room, h) for x, y, w, h in shape.where)
        corners = [[(x, y), (x + w, y), (x + w, y + h), (x, y + h)] for x, y, w, h in boxes]
        axes.add_collection(PolyCollection(corners, **_fill(shape), **above), autolim=False)
    elif isinstance(shape, Text):
        _text(axes, left + shape.x * room + shape.dx_px, top + shape.y, shape.text, **_letters(shape), **above)
    elif isinstance(shape, Ring):
        for width_px, color in shape.looks:
            look: dict[str, Any] = {"markeredgecolor": color, "markeredgewidth": width_px * _PT, **above}
            look |= {"markerfacecolor": "none", "markersize": 2 * shape.radius_px * _PT}
            axes.plot([left + shape.x * room], [top + shape.y], "o", **look)
    else:
        points = [(left + x * room, top + y) for x, y in shape.points]
        look = _line(shape) if isinstance(shape, Polyline) else _marks(shape)
        axes.plot(*zip(*points, strict=True), **look, **above)


def _fill(boxes: Boxes) -> dict[str, Any]:
    colors = {"facecolors": _color(boxes.color), "edgecolors": _color(boxes.edge), "alpha": boxes.opacity}
    return colors | {"linewidths": boxes.edge_px * _PT, "hatch": boxes.hatch or None}


def _letters(words: Text) -> dict[str, Any]:
    side = {"start": "left", "middle": "center", "end": "right"}[words.anchor]
    return {"ha": side, "color": _color(words.color), "fontweight": "bold" if words.bold else "normal"}


def _line(curve: Polyline) -> dict[str, Any]:
    # a dash in pixels as matplotlib counts it, in line widths
    dash = (0, tuple(part / curve.width_px for part in curve.dash)) if curve.dash else "solid"
    look = {"color": _color(curve.color), "linestyle": dash, "linewidth": curve.width_px * _PT}
    return look | {"alpha": curve.opacity, "solid_capstyle": "butt"}


def _marks(marks: Marks) -> dict[str, Any]:
    color, lined = _color(marks.color), marks.open or not MarkerStyle(marks.symbol).is_filled()
    look = {"linestyle": "none", "marker": marks.symbol, "markersize": marks.size_px * _PT, "color": color}
    return look | {"markerfacecolor": CARD if marks.open else color, "markeredgewidth": 1.5 if lined else 0.75}


def _text(axes: Axes, x: float, y: float, text: str, **look: Any) -> None:
    if text:
        axes.text(x, y, text, **{"fontsize": 9, "va": "center_baseline", **look})


def _color(color: str) -> str:
    return _THEME.get(color, color)
