"""What all panels share: the base class, axes with ticks, the table of facts, and a panel of free shapes (`Sketch`)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from course_lib.draw.colors import RANK_COLORS
from course_lib.draw.panels.drawing import NARROW_PX, PAPER, QUIET, Box, Boxes, Drawing, Key, Shape
from course_lib.draw.units import byte_unit, differ, format_bytes, log_ticks, round_ticks, time_unit


class PanelAxis(NamedTuple):
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
) -> PanelAxis:
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
        return PanelAxis(name, low, high, {tick: show(tick) for tick in ticks}, log)
    units: dict[str, Callable[[float], tuple[float, str]]] = {
        "s": time_unit,
        "B": byte_unit,
        "h": lambda _: (3600.0, "h"),
    }
    scale, unit_name = units[unit](largest or high) if unit in units else (1.0, "")
    ticks = list(at) or [tick * scale for tick in (log_ticks if log else _linear)(low / scale, high / scale, most)]
    if unit == "%":
        return PanelAxis(name, low, high, {tick: f"{tick:.0%}" for tick in ticks}, log)
    full = f"{name} in {unit_name}" if unit_name else name
    return PanelAxis(
        full, low, high, {tick: f"{_number(tick / scale)}{'' if unit_name else unit}" for tick in ticks}, log
    )


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


@dataclass(frozen=True, kw_only=True)
class Panel:
    """A picture, or one of several that stand together.

    Attributes:
        title: stands above it.
        origin: where its numbers are from: measured, emulated, simulated, computed or published.
        label: what it shows, in words.
        wide: as wide as the page, not half of it.
    """

    title: str
    origin: str
    label: str = ""
    wide: bool = False

    def drawing(self, width_px: float = NARROW_PX) -> Drawing:
        """The panel's shapes, laid out for a width of at least `width_px`."""
        raise NotImplementedError

    @property
    def words(self) -> str:
        """What it shows, in words."""
        return self.label or self.title


@dataclass(frozen=True)
class Table:
    """A table of one row: facts under their names; `origin` is that of all facts that do not name their own."""

    facts: Mapping[str, str]
    origin: str

    @property
    def words(self) -> str:
        """The facts as a sentence."""
        return ", ".join(f"{name} {value}" for name, value in self.facts.items())


ROWS = "rows"
COLUMNS = "columns"
WHOLE = "whole"
_MOST = 16  # bands: more cannot be told from each other
_SEEN_APART, _APART_PX = 8, 6.0  # more parts, or lower ones, have no room for lines between them


@dataclass(frozen=True, kw_only=True)
class Sketch(Panel):
    """Shapes in a room `height_px` high, with `left_px` beside it."""

    shapes: Sequence[Shape]
    height_px: float
    left_px: float = 4.0
    keys: Sequence[Key] = ()

    def drawing(self, width_px: float = NARROW_PX) -> Drawing:
        return Drawing(self.height_px, self.left_px, list(self.shapes), list(self.keys))


def cut(box: Box, way: str, ranks: int) -> list[Shape]:
    """A box cut into a band for each rank (or for each few), ROWS below or COLUMNS beside each other; or WHOLE.

    >>> [part.where for part in cut((0.0, 10.0, 1.0, 20.0), ROWS, 2)]
    [[(0.0, 10.0, 1.0, 10.0)], [(0.0, 20.0, 1.0, 10.0)]]
    """
    if way == WHOLE:
        return [Boxes([box], QUIET)]
    x, y, width, height = box
    share, bands = band_ranks(ranks) / ranks, -(-ranks // band_ranks(ranks))
    shares = [(band * share, min(share, 1 - band * share)) for band in range(bands)]
    if way == COLUMNS:
        parts = [(x + first * width, y, part * width, height) for first, part in shares]
    else:
        parts = [(x, y + first * height, width, part * height) for first, part in shares]
    apart = 1 < bands <= _SEEN_APART and parts[0][3] >= _APART_PX
    colors = len(RANK_COLORS)
    edge = PAPER if apart else "none"
    return [Boxes(parts[first::colors], RANK_COLORS[first], edge) for first in range(min(colors, bands))]


def band_ranks(ranks: int) -> int:
    """How many ranks a band of `cut` stands for: one, unless there are more than 16."""
    return -(-ranks // _MOST)


def rank_keys(ranks: int) -> list[Key]:
    """What the colors of `cut` mean; they begin anew where there are more bands.

    >>> [key.text for key in rank_keys(6)]
    ['rank 0, 4', 'rank 1, 5', 'rank 2', 'rank 3', 'whole on every rank']
    >>> rank_keys(64)[1].text
    'rank 4–7, 20–23, …'
    """
    band, colors = band_ranks(ranks), len(RANK_COLORS)
    firsts = range(0, ranks, band)
    names = [str(first) if band == 1 else f"{first}–{min(first + band, ranks) - 1}" for first in firsts]
    alike = [names[color::colors] for color in range(min(colors, len(names)))]
    texts = [", ".join(same[:2]) + (", …" if len(same) > 2 else "") for same in alike]
    keys = [Key(f"rank {text}", RANK_COLORS[color]) for color, text in enumerate(texts)]
    return [*keys, Key("whole on every rank", QUIET)]
