"""Tables and panels as a picture: the figures of pages, and explorers without a kernel."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from course_lib.draw.colors import CARD, MUTED
from course_lib.draw.colors import INK as DARK
from course_lib.draw.panels.drawing import FAINT, INK, PAPER, QUIET, Boxes, Curve, Key, Ring, Shape, Words
from course_lib.draw.panels.panel import Panel, Table
from course_lib.draw.style import PAGE_IN, Picture, finish, new_picture, styled

__all__ = ["picture_of", "picture_of_words"]

_THEME = {INK: DARK, FAINT: MUTED, PAPER: CARD, QUIET: "#d9d9d9"}
_PX_IN = 1 / 96
_PT = 72 / 96  # of a pixel
_WIDE = PAGE_IN / _PX_IN - 12
_GAP = 16.0
_TITLE = 22.0
_KEYS = 18.0
_FACTS = 40.0
_LETTER = 7.2  # of 9 points, about


@styled
def picture_of(parts: Sequence[Panel | Table], *, alt: str, note: str = "") -> Picture:
    """Tables and panels under each other, panels that are not wide two in a row."""
    rows = list(_rows(parts))
    heights = [max(_height(part, wide) for part, wide in row) for row in rows]
    picture = Picture(figsize=(PAGE_IN, (sum(heights) + _GAP * len(rows) + 34) * _PX_IN))
    top = 8.0
    for row, height in zip(rows, heights, strict=True):
        left = 6.0
        for part, wide in row:
            if isinstance(part, Table):
                _table_on(picture, part, left, top, wide)
            else:
                _panel_on(picture, part, left, top, wide)
            left += wide
        top += height + _GAP
    origins = dict.fromkeys(word for part in parts for word in part.origin.split(", "))
    return finish(picture, origin=", ".join(origins), alt=alt, note=note)


def picture_of_words(text: str, *, note: str = "") -> Picture:
    """Words alone, as a picture."""
    picture, axes = new_picture(7.0, 2.0)
    axes.set_axis_off()
    axes.text(0, 1, text[:600], va="top", family="monospace", fontsize=9, wrap=True)
    return finish(picture, origin="schematic", alt=text, note=note)


def _rows(parts: Sequence[Panel | Table]) -> Iterator[list[tuple[Panel | Table, float]]]:
    """What stands side by side, each with its width."""
    waiting: list[tuple[Panel | Table, float]] = []
    for part in parts:
        if isinstance(part, Table) or part.wide:
            if waiting:
                yield waiting
            waiting = []
            yield [(part, _WIDE)]
            continue
        waiting.append((part, _WIDE / 2))
        if len(waiting) == 2:
            yield waiting
            waiting = []
    if waiting:
        yield waiting


def _height(part: Panel | Table, wide: float) -> float:
    if isinstance(part, Table):
        return _FACTS * len(_lines(part.facts, wide))
    drawing = part.drawing()
    return _TITLE + _KEYS * -(-len(drawing.legend) // _abreast(drawing.legend, wide)) + drawing.height_px


def _lines(facts: Mapping[str, str], wide: float) -> list[list[tuple[float, str, str]]]:
    """Facts side by side: (left edge, name, value), in as many lines as they need."""
    lines: list[list[tuple[float, str, str]]] = [[]]
    left = 0.0
    for name, value in facts.items():
        needed = _LETTER * max(len(name), 1.1 * len(value)) + 16
        if lines[-1] and left + needed > wide:
            lines.append([])
            left = 0.0
        lines[-1].append((left, name, value))
        left += needed
    return lines


def _abreast(keys: Sequence[Key], wide: float) -> int:
    """How many entries of a legend have room side by side."""
    longest = max((len(key.text) for key in keys), default=0)
    return max(int((wide - 10) // (_LETTER * longest + 44)), 1)


def _table_on(picture: Picture, table: Table, left: float, top: float, wide: float) -> None:
    high = picture.get_figheight() / _PX_IN
    for number, line in enumerate(_lines(table.facts, wide)):
        for x, name, value in line:
            place = (left + x) * _PX_IN / PAGE_IN
            for down, text, look in ((9.0, name, {"color": MUTED}), (26.0, value, {"fontweight": "bold"})):
                y = 1 - (top + number * _FACTS + down) / high
                picture.text(place, y, text, fontsize=9, va="center_baseline", **look)


def _panel_on(picture: Picture, panel: Panel, left: float, top: float, wide: float) -> None:
    drawing, high = panel.drawing(), picture.get_figheight() / _PX_IN
    picture.text(
        left * _PX_IN / PAGE_IN, 1 - (top + 8) / high, panel.title, fontsize=10, fontweight="bold", va="center"
    )
    abreast = _abreast(drawing.legend, wide)
    top += _TITLE + _KEYS * -(-len(drawing.legend) // abreast)
    room = wide - drawing.left_px - 26
    place = (left + drawing.left_px) * _PX_IN / PAGE_IN, 1 - (top + drawing.height_px) / high
    axes = picture.add_axes((*place, room * _PX_IN / PAGE_IN, drawing.height_px / high))
    axes.set(xlim=(0, 1), ylim=(drawing.height_px, 0))
    axes.set_axis_off()
    for shape in drawing.shapes:
        if not (isinstance(shape, Words) and shape.from_px > room):
            _shape_on(axes, shape)
    if drawing.legend:
        look = {"columnspacing": 1.2, "handlelength": 2.0, "labelspacing": 0.3, "borderaxespad": 0.0, "borderpad": 0.3}
        at = {"loc": "lower left", "bbox_to_anchor": (-drawing.left_px / room, 1.0)}
        handles = [_handle(key) for key in drawing.legend]
        axes.legend(handles=handles, ncols=min(abreast, len(handles)), **at, **look)


def _handle(key: Key) -> Patch | Line2D:
    if key.dash is None:
        return Patch(facecolor=_color(key.color), edgecolor=MUTED, linewidth=0.5, label=key.text)
    return Line2D([], [], color=_color(key.color), linestyle=_dash(key.dash, 2), linewidth=2 * _PT, label=key.text)


def _shape_on(axes: Axes, shape: Shape) -> None:
    if isinstance(shape, Boxes):
        corners = [[(x, y), (x + w, y), (x + w, y + h), (x, y + h)] for x, y, w, h in shape.where]
        look = {"facecolors": _color(shape.color), "edgecolors": _color(shape.edge), "alpha": shape.opacity}
        axes.add_collection(PolyCollection(corners, linewidths=shape.edge_px * _PT, clip_on=False, **look))
    elif isinstance(shape, Curve):
        look = {"color": _color(shape.color), "linestyle": _dash(shape.dash, shape.width_px)}
        axes.plot(*zip(*shape.points, strict=True), linewidth=shape.width_px * _PT, clip_on=False, **look)
    elif isinstance(shape, Ring):
        for width_px, color in shape.looks:
            look = {"markerfacecolor": "none", "markeredgecolor": color, "markeredgewidth": width_px * _PT}
            axes.plot([shape.x], [shape.y], "o", markersize=2 * shape.radius_px * _PT, clip_on=False, **look)
    elif shape.text:
        side = {"start": "left", "middle": "center", "end": "right"}[shape.anchor]
        look = {"color": _color(shape.color), "fontweight": "bold" if shape.bold else "normal", "fontsize": 9}
        offset = {"xytext": (shape.dx_px * _PT, 0), "textcoords": "offset points", "annotation_clip": False}
        axes.annotate(shape.text, (shape.x, shape.y), ha=side, va="center_baseline", **offset, **look)


def _dash(dash: tuple[float, ...], width_px: float) -> object:
    """A dash in pixels as matplotlib counts it, in line widths."""
    return (0, tuple(part / width_px for part in dash)) if dash else "solid"


def _color(color: str) -> str:
    return _THEME.get(color, color)
