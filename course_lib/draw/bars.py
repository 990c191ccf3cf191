"""One number a name, each with its origin: bars, or points where a bar's length would mean nothing; parts of memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from course_lib.draw.colors import COLORS
from course_lib.draw.looks import FILLS, LINES
from course_lib.draw.panels import Bars, axis
from course_lib.draw.panels.picture import picture_of
from course_lib.draw.style import Picture
from course_lib.draw.units import format_bytes, format_seconds

__all__ = ["describe_memory_bars", "draw_bars", "draw_memory_bars"]

_FORMATS: dict[str, Callable[[float], str]] = {"seconds": format_seconds, "bytes": format_bytes}
_ROW_PX = 34.0


def _color(name: str) -> str:
    """That of an algorithm, a policy or a pass; blue for all else."""
    if name in FILLS["passes"]:
        return FILLS["passes"][name].color
    known = LINES["algorithms"] | LINES["policies"]
    return known[name].color if name in known else COLORS["blue"]


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
    show: Callable[[float], str] = _FORMATS.get(unit, lambda value: f"{value:.4g} {unit}".strip())
    named = {"seconds": "time", "bytes": "bytes"}.get(unit, unit)
    scale: dict[str, Any] = {"log": True, "low": min(values.values()) / 3} if log else {}
    panel = Bars(
        title=title,
        origin=origin,
        wide=True,
        bars={name: {name: value} for name, value in values.items()},
        axis=axis(named, values.values(), show=_FORMATS.get(unit, "{:g}".format), most=8, **scale),
        colors={name: _color(name) for name in values},
        show=show,
        points=log,
        row_px=_ROW_PX,
        grid=True,
    )
    words = "; ".join(f"{name}: {show(value)}" for name, value in values.items())
    kind = "Points on a logarithmic axis" if log else "Bars"
    return picture_of([panel], alt=f"{kind}. {title + ': ' if title else ''}{words}.", note=note)


def draw_memory_bars(
    bars: Mapping[str, Mapping[str, float]],
    *,
    limits: Mapping[str, float] | None = None,
    origin: str = "computed",
    title: str = "",
    note: str = "",
) -> Picture:
    """One horizontal bar a name, stacked from parts in bytes; a dashed line for each limit.

    Args:
        bars: name -> part -> bytes, for example {"1 B, fp32": {"parameters": 4e9, "gradients": 4e9, "Adam": 8e9}}.
        limits: name of a device -> its memory in bytes.
    """
    limits = dict(limits or {})
    longest = max([sum(parts.values()) for parts in bars.values()] + list(limits.values()))
    panel = Bars(
        title=title or "Memory",
        origin=origin,
        wide=True,
        bars=bars,
        axis=axis("memory", [longest], "B", most=8),
        limits=limits,
        show=format_bytes,
        row_px=_ROW_PX,
        grid=True,
    )
    return picture_of([panel], alt=describe_memory_bars(bars, limits), note=note)


def describe_memory_bars(bars: Mapping[str, Mapping[str, float]], limits: Mapping[str, float] | None = None) -> str:
    """The bars in words."""
    words = []
    for name, parts in bars.items():
        inside = ", ".join(f"{part} {format_bytes(count)}" for part, count in parts.items())
        words.append(f"{name}: {format_bytes(sum(parts.values()))} ({inside})")
    for name, count in (limits or {}).items():
        over = [bar for bar, parts in bars.items() if sum(parts.values()) > count]
        words.append(
            f"{name} has {format_bytes(count)}, " + (f"too little for {', '.join(over)}" if over else "enough for all")
        )
    return "Bars of memory. " + "; ".join(words) + "."
