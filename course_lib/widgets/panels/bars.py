"""Bars: a number for each name, stacked from parts where it has some."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from course_lib.draw.looks import fill_of
from course_lib.draw.style import every, ink_on
from course_lib.widgets.drawing import INK, PAPER, Boxes, Curve, Drawing, Key, Shape, Words, frame, rows_down
from course_lib.widgets.panels.axes import Axis
from course_lib.widgets.panels.panel import Panel

__all__ = ["Bars"]

_TOP, _BOTTOM, _ROW = 26.0, 160.0, 40.0
_NARROW, _LETTER, _GAP = 290.0, 7.5, 8.0  # px: of a panel beside another, of a letter, between two ticks


@dataclass(frozen=True, kw_only=True)
class Bars(Panel):
    """A bar for each name: name -> part -> length.

    Attributes:
        axis: of the lengths.
        upright: columns beside each other, named by `names` below; else rows under each other.
        names: what the names of columns are.
        colors: of parts that the course's table of looks does not know.
        limits: dashed lines at these lengths, by name (in rows).
        marks: dashed lines at these columns (0 is the middle of the first), by name (upright).
        show: writes a bar's whole length behind it (in rows).
    """

    bars: Mapping[str, Mapping[str, float]]
    axis: Axis
    upright: bool = False
    names: str = ""
    colors: Mapping[str, str] = field(default_factory=dict)
    limits: Mapping[str, float] = field(default_factory=dict)
    marks: Mapping[str, tuple[float, str]] = field(default_factory=dict)
    show: Callable[[float], str] | None = None

    def drawing(self) -> Drawing:
        return self._columns() if self.upright else self._rows()

    def _colors(self) -> dict[str, str]:
        parts = dict.fromkeys(part for bar in self.bars.values() for part in bar)
        return {part: self.colors.get(part) or fill_of(part, number).color for number, part in enumerate(parts)}

    def _keys(self) -> list[Key]:
        colors = self._colors()
        return [Key(part, color) for part, color in colors.items()] if len(colors) > 1 else []

    def _columns(self) -> Drawing:
        wide = 1 / max(len(self.bars), 1)
        shapes: list[Shape] = []
        for part, color in self._colors().items():
            where = []
            for number, (low, high) in enumerate(self._stretches(part)):
                top, height = _BOTTOM - high * (_BOTTOM - _TOP), (high - low) * (_BOTTOM - _TOP)
                where.append(((number + 0.05) * wide, top, 0.9 * wide, height))
            shapes.append(Boxes(where, color))
        keys = self._keys()
        for name, (column, color) in self.marks.items():
            place = (column + 0.5) * wide
            shapes.append(Curve([(place, _TOP), (place, _BOTTOM)], color, (4, 3)))
            keys.append(Key(name, color, (4, 3)))
        named = list(self.bars)
        x_ticks = {(column + 0.5) * wide: named[column] for column in every(len(named), 10)}
        y_ticks = {_BOTTOM - self.axis.share(v) * (_BOTTOM - _TOP): text for v, text in self.axis.ticks.items()}
        left = 14 + 7 * max(map(len, y_ticks.values()), default=0)
        return Drawing(
            _BOTTOM + 36, left, [*frame(_BOTTOM, x_ticks, self.names, y_ticks, self.axis.name), *shapes], keys
        )

    def _rows(self) -> Drawing:
        top = 20.0 if self.limits else 0.0
        bottom = top + _ROW * len(self.bars)
        shapes, left = rows_down(list(self.bars), _ROW, top)
        for part, color in self._colors().items():
            stretches = enumerate(self._stretches(part))
            where = [(low, top + row * _ROW + 6, high - low, _ROW - 12) for row, (low, high) in stretches if high > low]
            shapes.append(Boxes(where, color, PAPER if all(width > 0.008 for _, _, width, _ in where) else "none"))
        if self.show is not None:
            middles = [top + (row + 0.5) * _ROW for row in range(len(self.bars))]
            shapes += [self._length(bar, y, _NARROW - left) for bar, y in zip(self.bars.values(), middles, strict=True)]
        for name, value in self.limits.items():
            place = self.axis.share(value)
            shapes += [Curve([(place, top - 4), (place, bottom)], INK, (6, 3), 1.5), Words(place, top - 12, name)]
        ticks = {self.axis.share(value): text for value, text in self.axis.ticks.items()}
        shapes += frame(bottom, _apart(ticks, _NARROW - left), self.axis.name, {}, "")
        return Drawing(bottom + 36, left, shapes, self._keys())

    def _length(self, bar: Mapping[str, float], y: float, room: float) -> Words:
        """A bar's whole length behind it, or within it where there is no room; an arrow where it goes on."""
        assert self.show is not None
        whole, end = sum(bar.values()), self.axis.share(sum(bar.values()))
        text = self.show(whole) + "  ▶" * (end > 1)
        needed = (_GAP + _LETTER * len(text)) / room
        if needed <= 1 - end or needed > end:
            return Words(min(end, 1.0), y, text, "start", INK, 6.0)
        last = [part for part, value in bar.items() if value > 0][-1]
        return Words(min(end, 1.0), y, text, "end", ink_on(self._colors()[last]), -6.0)

    def _stretches(self, part: str) -> list[tuple[float, float]]:
        """Where a part begins and ends in each bar, as shares of the axis, cut at its end."""
        found = []
        for bar in self.bars.values():
            before = 0.0
            for name, value in bar.items():
                if name == part:
                    break
                before += value
            low, high = self.axis.share(before), self.axis.share(before + bar.get(part, 0.0))
            found.append((min(low, 1.0), min(high, 1.0)))
        return found


def _apart(ticks: Mapping[float, str], room: float) -> dict[float, str]:
    """All ticks, or every second, third, ... where their texts would touch in `room` pixels.

    >>> _apart({0.0: "0", 0.4: "1000", 0.8: "2000"}, 60)
    {0.0: '0', 0.8: '2000'}
    """
    places = sorted(ticks)
    for step in range(1, len(places) + 1):
        few = places[::step]
        needed = [_GAP + _LETTER * (len(ticks[a]) + len(ticks[b])) / 2 for a, b in itertools.pairwise(few)]
        if all((b - a) * room >= px for (a, b), px in zip(itertools.pairwise(few), needed, strict=True)):
            break
    return {place: ticks[place] for place in few}
