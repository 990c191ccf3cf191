"""Lines of any quantity against any other, with marks where they cross; the marker says where a number is from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from course_lib.draw.curves import Curve, curves_legend, plot_curves
from course_lib.draw.style import INK, MUTED, Picture, finish, looks_of, new_picture, styled
from course_lib.draw.units import log_ticks

__all__ = ["Axis", "draw_lines"]


class Axis(NamedTuple):
    """One axis of `draw_lines`: what it counts, how its numbers are written, and whether each step multiplies.

    `ticks` names the places of the ticks; without it they are round numbers, three of them or more.
    """

    label: str
    show: Callable[[float], str] = "{:g}".format
    log: bool = False
    ticks: Sequence[float] = ()


@styled
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
    picture, axes = new_picture(7.4, 4.0)
    looks = looks_of(curve.name for curve in curves)
    plot_curves(axes, curves, looks)
    _scale(axes, x, y)
    for text, place in (marks or {}).items():
        axes.axvline(place, color=MUTED, linestyle=":", linewidth=1.2)
        height, end = (0.97, "top") if _is_clear_above(axes, curves, place) else (0.03, "bottom")
        upward = {"rotation": 90, "ha": "right", "va": end, "fontsize": 9, "color": INK}
        axes.text(place, height, f"{text} ", transform=axes.get_xaxis_transform(), **upward)
    if len(curves) > 1:
        picture.legend(handles=curves_legend(curves, looks), loc="outside right upper", handlelength=2.6)
    axes.set_title(title or f"{y.label} by {x.label}")
    origins = ", ".join(dict.fromkeys(curve.origin for curve in curves))
    return finish(picture, origin=origins, alt=_describe(curves, x, y, marks or {}), note=note)


def _is_clear_above(axes: Axes, curves: Sequence[Curve], place: float) -> bool:
    """Whether the curves leave more room above them than below, there where a mark stands."""
    points = [(place, float(np.interp(place, curve.x, curve.seconds))) for curve in curves]
    heights = axes.transAxes.inverted().transform(axes.transData.transform(points))[:, 1]
    return bool(1 - heights.max() > heights.min())


def _scale(axes: Axes, x: Axis, y: Axis) -> None:
    for axis, scale, this in ((axes.xaxis, axes.set_xscale, x), (axes.yaxis, axes.set_yscale, y)):
        if this.log:
            scale("log")
        if this.ticks or this.log:
            axis.set_major_locator(FixedLocator(list(this.ticks) or log_ticks(*axis.get_view_interval())))
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(FuncFormatter(lambda value, _, show=this.show: show(value)))
        axis.set_label_text(this.label)
    axes.grid()


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
