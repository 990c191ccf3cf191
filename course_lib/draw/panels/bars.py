"""Bars: a number for each name, stacked from parts where it has some."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from course_lib.draw.looks import fill_of
from course_lib.draw.panels.axes import Axis
from course_lib.draw.panels.drawing import (
    INK,
    PAPER,
    Boxes,
    Curve,
    Drawing,
    Key,
    Shape,
    Words,
    beside,
    frame,
    left_of,
    room_px,
    rows_down,
)
from course_lib.draw.panels.letters import FREE_PX, wide_px
from course_lib.draw.panels.panel import Panel
from course_lib.draw.style import every

__all__ = ["Bars"]

_TOP = 26.0
_BOTTOM = 160.0
_ROW = 40.0
_MIN = 0.3  # of the width is the bars'
_GAP_PX = 6.0  # between a bar and its length in words


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
        left = left_of(y_ticks.values())
        around = frame(_BOTTOM, left, x_ticks, self.names, y_ticks, self.axis.name)
        return Drawing(_BOTTOM + 36, left, [*around, *shapes], keys)

    def _rows(self) -> Drawing:
        top = 20.0 if self.limits else 0.0
        bottom = top + _ROW * len(self.bars)
        shapes, left = rows_down(list(self.bars), _ROW, top)
        texts = {name: self._text(bar) for name, bar in self.bars.items()}
        ends = {name: min(self.axis.share(sum(bar.values())), 1.0) for name, bar in self.bars.items()}
        wide = _room_for_bars([(ends[name], text) for name, text in texts.items() if text], room_px(left))
        for part, color in self._colors().items():
            stretches = enumerate(self._stretches(part))
            where = [
                (low * wide, top + row * _ROW + 6, (high - low) * wide, _ROW - 12)
                for row, (low, high) in stretches
                if high > low
            ]
            shapes.append(Boxes(where, color, PAPER if all(width > 0.008 for _, _, width, _ in where) else "none"))
        for row, (name, text) in enumerate(texts.items()):
            shapes += [Words(ends[name] * wide, top + (row + 0.5) * _ROW, text, "start", INK, _GAP_PX)] if text else []
        for name, value in self.limits.items():
            place = self.axis.share(value) * wide
            shapes += [
                Curve([(place, top - 4), (place, bottom)], INK, (6, 3), 1.5),
                beside(place, top - 12, name, left),
            ]
        ticks = {self.axis.share(value) * wide: text for value, text in self.axis.ticks.items()}
        shapes += frame(bottom, left, ticks, self.axis.name, {}, "")
        return Drawing(bottom + 36, left, shapes, self._keys())

    def _text(self, bar: Mapping[str, float]) -> str:
        """A bar's whole length in words, with an arrow where it goes on beyond the axis."""
        whole = sum(bar.values())
        return self.show(whole) + ("  ▶" if self.axis.share(whole) > 1 else "") if self.show is not None else ""

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


def _room_for_bars(bars: list[tuple[float, str]], room: float) -> float:
    """The share of a narrow panel's room that the axis gets, so that each text has room behind its bar (its end).

    >>> _room_for_bars([(0.5, "1 s"), (0.1, "20 ms")], 100), round(_room_for_bars([(1.0, "2 GB")], 100), 2)
    (1.0, 0.79)
    """
    most = [(room + FREE_PX - _GAP_PX - wide_px(text)) / room / end for end, text in bars if end > 0]
    return max(min([1.0, *most]), _MIN)
