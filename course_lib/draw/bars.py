"""One number a name, each with its origin: bars, or points where a bar's length would mean nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from course_lib.draw.style import COLORS, FILLS, LINES, Picture, finish, new_picture, styled
from course_lib.draw.units import format_bytes, format_seconds

__all__ = ["draw_bars"]

_FORMATS: dict[str, Callable[[float], str]] = {"seconds": format_seconds, "bytes": format_bytes}


def _color(name: str) -> str:
    """That of an algorithm, a policy or a pass; blue for all else."""
    if name in FILLS["passes"]:
        return FILLS["passes"][name].color
    known = LINES["algorithms"] | LINES["policies"]
    return known[name].color if name in known else COLORS["blue"]


@styled
def draw_bars(
    values: Mapping[str, float], unit: str, *, origin: str, log: bool = False, title: str = "", note: str = ""
) -> Picture:
    """Horizontal bars with their values written beside them; a bar of an algorithm, a policy or a pass has its color.

    On a logarithmic axis, which has no zero for a bar to begin at, points stand in their place.

    Args:
        values: name -> number.
        unit: "seconds", "bytes", or any other unit as it should stand on the axis.
        log: a logarithmic axis, for values that differ by more than a factor of ten or so.

    Raises:
        ValueError: if a logarithmic axis is asked to show 0 or less.
    """
    if log and min(values.values()) <= 0:
        raise ValueError(f"a logarithmic axis shows numbers above 0 only, got {min(values.values())}")
    picture, axes = new_picture(7.0, 0.9 + 0.36 * len(values))
    show: Callable[[float], str] = _FORMATS.get(unit, lambda value: f"{value:.4g} {unit}".strip())
    colors = [_color(name) for name in values]
    if log:
        axes.scatter(values.values(), range(len(values)), s=60, color=colors, zorder=3)
        axes.hlines(range(len(values)), 0, list(values.values()), colors=colors, linewidth=1, linestyle="dotted")
    else:
        axes.barh(range(len(values)), values.values(), 0.66, color=colors)
    for row, value in enumerate(values.values()):
        axes.annotate(
            show(value), (value, row), (7 if log else 4, 0), textcoords="offset points", va="center", fontsize=9
        )
    axes.set_yticks(range(len(values)), list(values))
    axes.set_ylim(len(values) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    most = max(values.values())
    if log:
        axes.set_xscale("log")
        axes.set_xlim(min(values.values()) / 3, most * 12)
    else:
        axes.set_xlim(min(0, min(values.values())), most * 1.2 or 1)
    if unit in _FORMATS:
        axes.xaxis.set_major_formatter(lambda value, _: _FORMATS[unit](value))
    axes.set_xlabel({"seconds": "time", "bytes": "bytes"}.get(unit, unit))
    axes.grid(axis="x")
    axes.set_title(title)
    words = "; ".join(f"{name}: {show(value)}" for name, value in values.items())
    return finish(
        picture,
        origin=origin,
        alt=f"{'Points on a logarithmic axis' if log else 'Bars'}. {title + ': ' if title else ''}{words}.",
        note=note,
    )
