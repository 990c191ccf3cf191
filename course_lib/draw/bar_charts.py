"""Bar charts: one number for each name, memory in parts, and bars that shall reach a goal (a dashed line)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from course_lib.draw.colors import COLORS, FILLS, LINES
from course_lib.draw.panels import Bars, PanelAxis, axis
from course_lib.draw.panels.picture import picture_of
from course_lib.draw.style import Picture
from course_lib.draw.units import format_bytes, format_seconds

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


def goal_color(reached: bool) -> str:
    """Green where the goal is reached, blue where it is not."""
    return COLORS["green" if reached else "blue"]


def goal_bars(
    values: Mapping[str, float],
    what: str,
    *,
    along: PanelAxis,
    limit: tuple[str, float],
    colors: Mapping[str, str],
    show: Callable[[float], str] | None,
    title: str,
    origin: str,
    row_px: float = 32.0,
) -> Bars:
    """A bar for each name, with its value beside it as `show` writes it, and a dashed line, `limit`, with its words.

    Args:
        what: a bar shows, as in "a speed-up"; an error says it.
        along: the axis; it does not depend on the values, so that pictures with more bars can be compared.

    Raises:
        ValueError: if there is no bar.
    """
    if not values:
        raise ValueError(f"there must be {what} to draw, got none")
    return Bars(
        title=title,
        origin=origin,
        wide=True,
        bars={name: {name: value} for name, value in values.items()},
        axis=along,
        colors=colors,
        limits=dict([limit]),
        show=show,
        row_px=row_px,
        grid=True,
    )


def draw_speedups(
    speedups: Mapping[str, float], *, gpus: int = 16, goal: float = 0.9, origin: str = "computed", title: str = ""
) -> Picture:
    """A bar for each way by name, with its speed-up written beside it, and a dashed line at `goal` times `gpus`.

    A bar that reaches the goal is green. The axis always ends at `gpus`, so that pictures with more bars can be
    compared.

    Raises:
        ValueError: if there is no bar.

    >>> draw_speedups({"fp32": 0.61, "1 bit": 15.0}).alt
    'Speed-up of 16 GPUs over one, goal 14.4: fp32 0.61, 1 bit 15.0. (computed)'
    """
    reached = goal * gpus
    panel = goal_bars(
        speedups,
        "a speed-up",
        along=axis("speed-up", [gpus], most=9),
        limit=(f"goal: {reached:.1f}", reached),
        colors={name: goal_color(value >= reached) for name, value in speedups.items()},
        show=_speedup,
        title=title or f"Speed-up of {gpus} GPUs",
        origin=origin,
    )
    words = ", ".join(f"{name} {_speedup(value)}" for name, value in speedups.items())
    return picture_of([panel], alt=f"Speed-up of {gpus} GPUs over one, goal {reached:.1f}: {words}.")


def _speedup(speedup: float) -> str:
    return f"{speedup:.1f}" if speedup >= 2 else f"{speedup:.2f}"


def draw_busy_gpus(
    busy: Mapping[str, float], *, gpus: int = 8, goal: float = 7.2, origin: str = "computed", title: str = ""
) -> Picture:
    """A bar for each way by name, with its busy GPUs written beside it, and a dashed line at the goal.

    A bar that reaches the goal is green. The axis always ends at `gpus`, so that pictures with more bars can be
    compared.

    Raises:
        ValueError: if there is no bar, or one has more busy GPUs than a machine has.

    >>> draw_busy_gpus({"one reader": 0.238, "34 readers": 8.0}).alt
    'Busy GPUs, of 8, goal 7.2: one reader 0.24, 34 readers 8.0. (computed)'
    """
    if not busy or max(busy.values()) > gpus + 1e-9:
        raise ValueError(f"there must be bars of at most {gpus} GPUs, got {dict(busy)}")
    panel = goal_bars(
        busy,
        "a way to read",
        along=axis("busy GPUs of a machine", [gpus], most=9),
        limit=(f"goal: {goal:.1f}", goal),
        colors={name: goal_color(count >= goal) for name, count in busy.items()},
        show=_busy_gpus,
        title=title or f"Busy GPUs, of {gpus}",
        origin=origin,
        row_px=30.0,
    )
    words = ", ".join(f"{name} {_busy_gpus(count)}" for name, count in busy.items())
    return picture_of([panel], alt=f"Busy GPUs, of {gpus}, goal {goal:.1f}: {words}.")


def _busy_gpus(busy: float) -> str:
    if not busy:
        return "0"
    return f"{busy:.1f}" if busy >= 1 else f"{busy:.2f}"
