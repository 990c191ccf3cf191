"""Axes: where a value lies between two ends, and which round values are named."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from course_lib.draw.units import byte_unit, differ, format_bytes, log_ticks, round_ticks, time_unit

__all__ = ["Axis", "axis"]


class Axis(NamedTuple):
    """A name, two ends, and the ticks: value -> text."""

    name: str
    low: float
    high: float
    ticks: Mapping[float, str]
    log: bool = False

    def share(self, value: float) -> float:
        """Where a value lies: 0 at the low end, 1 at the high one, beyond them outside."""
        if not self.log:
            return (value - self.low) / ((self.high - self.low) or 1.0)
        if value <= 0:
            return -math.inf
        if math.isinf(value):
            return math.inf
        return math.log(value / self.low) / (math.log(self.high / self.low) or 1.0)


def axis(
    name: str,
    values: Iterable[float],
    unit: str = "",
    *,
    log: bool = False,
    low: float | None = None,
    high: float | None = None,
    most: int = 5,
    at: Iterable[float] = (),
    show: Callable[[float], str] | None = None,
    room: float = 0.0,
) -> Axis:
    """An axis that holds the values, or ends at `low` and `high` where these are given.

    Args:
        unit: "s" and "B" choose the unit that the largest value is written in, "h" shows seconds as hours; "B" on a
            logarithmic axis names each tick with its own; any other stands behind the numbers ("×", "%" for shares).
        most: ticks.
        at: where ticks stand, in place of round values.
        show: writes the ticks, in place of a unit.
        room: a share of the axis that is left free at both ends; zero is then no end of it.

    >>> axis("time", [0.012], "s").name, list(axis("time", [0.012], "s").ticks.values())
    ('time in ms', ['0', '5', '10'])
    >>> list(axis("nodes", [1, 1024], log=True, at=(1, 32, 1024)).ticks.values())
    ['1', '32', '1,024']
    """
    finite = [value for value in values if math.isfinite(value) and (value > 0 or not log)]
    least, largest = min(finite, default=1.0), max(finite, default=1.0)
    if room and differ(least, largest):
        least, largest = _wider(least, largest, room, log)
    low = low if low is not None else least if log or room else min(0.0, least)
    high = high if high is not None else largest
    high = high if differ(low, high) else low * 2 if log else low + (abs(low) or 1)
    show = format_bytes if log and unit == "B" else show
    if show is not None:
        ticks = [tick for tick in at or (log_ticks if log else _linear)(low, high, most) if low <= tick <= high]
        return Axis(name, low, high, {tick: show(tick) for tick in ticks}, log)
    units: dict[str, Callable[[float], tuple[float, str]]] = {
        "s": time_unit,
        "B": byte_unit,
        "h": lambda _: (3600.0, "h"),
    }
    scale, unit_name = units[unit](largest or high) if unit in units else (1.0, "")
    ticks = list(at) or [tick * scale for tick in (log_ticks if log else _linear)(low / scale, high / scale, most)]
    if unit == "%":
        return Axis(name, low, high, {tick: f"{tick:.0%}" for tick in ticks}, log)
    full = f"{name} in {unit_name}" if unit_name else name
    return Axis(full, low, high, {tick: f"{_number(tick / scale)}{'' if unit_name else unit}" for tick in ticks}, log)


def _wider(low: float, high: float, room: float, log: bool) -> tuple[float, float]:
    """Both ends, moved so far that a share of the axis is free beyond them."""
    if log:
        more = (high / low) ** (room / (1 - 2 * room))
        return low / more, high * more
    more = (high - low) * room / (1 - 2 * room)
    return low - more, high + more


def _linear(low: float, high: float, most: int) -> list[float]:
    return round_ticks(high, most, low)


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1e6 else f"{value:,g}"
