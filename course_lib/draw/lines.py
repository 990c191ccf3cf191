"""Lines of any quantity against any other, with marks where they cross; the way they are drawn says where a number is
from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from course_lib.draw.colors import MUTED
from course_lib.draw.panels import Line, Lines, axis
from course_lib.draw.panels.drawing import Key
from course_lib.draw.panels.picture import picture_of
from course_lib.draw.style import Picture

__all__ = ["Axis", "Curve", "PAGE_PX", "draw_lines", "lines_panel"]

PAGE_PX = 260.0  # height of the room for lines where a panel has a page's width for itself
_ROOM = 0.03  # of an axis, free at both ends
_WAYS = {"measured": "dots", "emulated": "open dots", "published": "crosses"}


class Axis(NamedTuple):
    """One axis of `draw_lines`: what it counts, how its numbers are written, and whether each step multiplies.

    `ticks` names the places of the ticks; without it they are round numbers, three of them or more.
    """

    label: str
    show: Callable[[float], str] = "{:g}".format
    log: bool = False
    ticks: Sequence[float] = ()


class Curve(NamedTuple):
    """Seconds of one algorithm at several message sizes (bytes) or numbers of ranks, and where they are from."""

    name: str
    x: Sequence[float]
    seconds: Sequence[float]
    origin: str


def draw_lines(
    lines: Mapping[str, tuple[Any, ...]],
    x: Axis,
    y: Axis,
    *,
    origin: str = "computed",
    marks: Mapping[str, float] | None = None,
    title: str = "",
    note: str = "",
) -> Picture:
    """Lines by name: (x values, y values), or (x values, y values, origin) where they differ in that.

    Computed and simulated values are drawn as lines (where there are both, simulated ones as bands), measured ones as
    full markers, emulated as open ones, published as crosses.

    Args:
        marks: what to write at a dotted line upward -> its x.

    Raises:
        ValueError: if there is no line.

    >>> draw_lines({"half": ([1, 2, 4], [0.5, 1, 2])}, Axis("ranks"), Axis("speed-up")).alt
    'speed-up against ranks: half from 0.5 at 1 to 2 at 4. (computed)'
    """
    if not lines:
        raise ValueError("there must be a line to draw, got none")
    curves = [Curve(name, line[0], line[1], line[2] if len(line) > 2 else origin) for name, line in lines.items()]
    panel = lines_panel(curves, x, y, title=title or f"{y.label} by {x.label}", marks=marks)
    return picture_of([panel], alt=_describe(curves, x, y, marks or {}), note=note)


def lines_panel(
    curves: Sequence[Curve],
    x: Axis,
    y: Axis,
    *,
    title: str,
    marks: Mapping[str, float] | None = None,
    beside: Sequence[Curve] | None = None,
    **more: Any,
) -> Lines:
    """Curves as a panel.

    Args:
        beside: all curves of the picture, if more.
        more: what else Lines have.
    """
    shown = beside or curves
    origins = list(dict.fromkeys(curve.origin for curve in shown))
    lines: dict[str, list[Line]] = {name: [] for name in dict.fromkeys(curve.name for curve in shown)}
    for curve in curves:
        lines[curve.name].append(Line(curve.x, curve.seconds, drawn=_way(curve.origin, origins)))
    look: dict[str, Any] = {"wide": True, "height_px": PAGE_PX, "grid": "xy"} | more
    return Lines(
        title=title,
        origin=", ".join(dict.fromkeys(curve.origin for curve in curves)),
        lines=lines,
        x=scaled(x, [place for curve in shown for place in curve.x] + list((marks or {}).values()), most=10),
        y=scaled(y, [value for curve in curves for value in curve.seconds]),
        flags=marks or {},
        keys=[_origin_key(origin, origins) for origin in origins] if len(origins) > 1 else [],
        **look,
    )


def scaled(spec: Axis, values: Sequence[float], most: int = 7) -> Any:
    """The axis that holds these values, with at most so many ticks."""
    return axis(spec.label, values, log=spec.log, at=spec.ticks, show=spec.show, room=_ROOM, most=most)


def _way(origin: str, origins: Sequence[str]) -> str:
    """How numbers of an origin are drawn beside those of others."""
    return "band" if origin == "simulated" and "computed" in origins else _WAYS.get(origin, "line")


def _origin_key(origin: str, origins: Sequence[str]) -> Key:
    """What the legend says of an origin, where there are several."""
    way = _way(origin, origins)
    symbol = {"dots": "o", "open dots": "o", "crosses": "x"}.get(way, "")
    return Key(origin, MUTED, None if symbol else (), symbol, open=way == "open dots", band=way == "band")


def _describe(curves: Sequence[Curve], x: Axis, y: Axis, marks: Mapping[str, float]) -> str:
    parts = [f"{c.name} from {_point(c, 0, x, y)} to {_point(c, -1, x, y)}" for c in curves]
    marked = "".join(f" {text}: {_said(place, x)}." for text, place in marks.items())
    return f"{y.label} against {x.label}: {'; '.join(parts)}.{marked}"


def _point(curve: Curve, place: int, x: Axis, y: Axis) -> str:
    return f"{_said(curve.seconds[place], y)} at {_said(curve.x[place], x)}"


def _said(value: float, axis: Axis) -> str:
    """As the axis writes it: a whole number as it is, any other with three digits where that is shorter."""
    exact = axis.show(value)
    return exact if float(value).is_integer() else min(exact, axis.show(float(f"{value:.3g}")), key=len)
