"""Bars: a number for each name, stacked from parts where it has some."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from course_lib.draw.colors import Fill, fill_of
from course_lib.draw.panels.drawing import (
    FAINT,
    FREE_PX,
    INK,
    NARROW_PX,
    PAPER,
    Boxes,
    Drawing,
    Key,
    Marks,
    Polyline,
    Shape,
    Text,
    flags,
    flags_px,
    frame,
    left_of,
    room_px,
    rows_down,
    text_width_px,
)
from course_lib.draw.panels.panel import Panel, PanelAxis
from course_lib.draw.style import every

_TOP = 26.0
_HIGH = 134.0
_MIN = 0.3  # of the width is the bars'
_GAP_PX = 6.0  # between a bar and its length in words


@dataclass(frozen=True, kw_only=True)
class Bars(Panel):
    """A bar for each name: name -> part -> length.

    Attributes:
        axis: of the lengths.
        upright: columns beside each other, named by `names` below; else rows under each other.
        apart: parts stand beside each other, not on each other (upright).
        names: what the names of columns are.
        colors: of parts that the course's table of looks does not know; "none" is for a part that is not seen.
        hatches: likewise.
        limits: dashed lines at these lengths, by name (in rows).
        marks: dashed lines at these columns (0 is the middle of the first), by name (upright).
        show: writes a bar's whole length behind it (in rows).
        points: a point at each length, and no bar: for an axis without a zero (in rows).
        ranges: thick lines in the rows of these names, from where to where (in rows).
        row_px: height of a row.
        named: whether names stand beside the rows.
        height_px: of the room for columns.
        grid: thin lines at the ticks of the axis.
        facts: lines of words below the axis (in rows).
    """

    bars: Mapping[str, Mapping[str, float]]
    axis: PanelAxis
    upright: bool = False
    apart: bool = False
    names: str = ""
    colors: Mapping[str, str] = field(default_factory=dict)
    hatches: Mapping[str, str] = field(default_factory=dict)
    limits: Mapping[str, float] = field(default_factory=dict)
    marks: Mapping[str, tuple[float, str]] = field(default_factory=dict)
    show: Callable[[float], str] | None = None
    points: bool = False
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    row_px: float = 40.0
    named: bool = True
    height_px: float = _HIGH
    grid: bool = False
    facts: Sequence[str] = ()

    def drawing(self, width_px: float = NARROW_PX) -> Drawing:
        return self._columns(width_px) if self.upright else self._rows(width_px)

    def _fills(self) -> dict[str, Fill]:
        parts = dict.fromkeys(part for bar in self.bars.values() for part in bar)
        fills = {part: fill_of(part, number) for number, part in enumerate(parts)}
        own = {part: Fill(color) for part, color in self.colors.items() if part in fills}
        return {part: fill._replace(hatch=self.hatches.get(part, fill.hatch)) for part, fill in (fills | own).items()}

    def _keys(self) -> list[Key]:
        """What the parts are, unless each bar has one, which is called as it is."""
        if all(list(bar) == [name] for name, bar in self.bars.items()):
            return []
        seen = {part: fill for part, fill in self._fills().items() if fill.color != "none"}
        return [Key(part, fill.color, hatch=fill.hatch) for part, fill in seen.items()] if len(seen) > 1 else []

    def _columns(self, width_px: float) -> Drawing:
        bottom = _TOP + self.height_px
        each = 1 / max(len(self.bars), 1)
        shapes: list[Shape] = []
        fills = self._fills()
        part_wide = 0.9 * each / (len(fills) if self.apart else 1)
        for place, (part, fill) in enumerate(fills.items()):
            where = []
            for number, (low, high) in enumerate(self._stretches(part)):
                x = (number + 0.05) * each + (place * part_wide if self.apart else 0.0)
                if high > low:
                    where.append((x, bottom - high * self.height_px, part_wide, (high - low) * self.height_px))
            shapes.append(Boxes(where, fill.color, PAPER if fill.hatch else "none", hatch=fill.hatch))
        keys = self._keys()
        for name, (column, color) in self.marks.items():
            x = (column + 0.5) * each
            shapes.append(Polyline([(x, _TOP), (x, bottom)], color, (4, 3)))
            keys.append(Key(name, color, (4, 3)))
        named = list(self.bars)
        x_ticks = {(column + 0.5) * each: named[column] for column in every(len(named), 10)}
        y_ticks = {bottom - self.axis.share(v) * self.height_px: text for v, text in self.axis.ticks.items()}
        left = left_of(y_ticks.values())
        grid = "y" if self.grid else ""
        around = frame(bottom, left, x_ticks, self.names, y_ticks, self.axis.name, width_px=width_px, grid=grid)
        return Drawing(bottom + 36, left, [*around, *shapes], keys)

    def _rows(self, width_px: float) -> Drawing:
        rows = [name if self.named else "" for name in self.bars]
        _, left = rows_down(rows, self.row_px)
        texts = {name: self._text(bar) for name, bar in self.bars.items()}
        ends = {name: min(max(self.axis.share(sum(bar.values())), 0.0), 1.0) for name, bar in self.bars.items()}
        room = room_px(left, width_px)
        share, starts = self._words_at(ends, texts, room)
        limits = {name: self.axis.share(value) * share for name, value in self.limits.items()}
        top = flags_px(limits, left, width_px) + (6.0 if limits else 0.0)
        bottom = top + self.row_px * len(self.bars)
        names, _ = rows_down(rows, self.row_px, top)
        ticks = {self.axis.share(value) * share: text for value, text in self.axis.ticks.items()}
        grid = "x" if self.grid else ""
        shapes = names + frame(bottom, left, ticks, self.axis.name, {}, "", top=top, width_px=width_px, grid=grid)
        shapes += self._points(share, top) if self.points else self._boxes(share, top)
        for row, (name, text) in enumerate(texts.items()):
            gap = _GAP_PX + (4 if self.points else 0)
            middle = top + (row + 0.5) * self.row_px
            shapes += [Text(starts[name] * share, middle, text, "start", INK, gap)] if text else []
        shapes += flags(limits, top, bottom, left, width_px, INK, (6, 3))
        low = bottom + 36
        shapes += [Text(0, low + 14 + 16 * line, text, "start", FAINT) for line, text in enumerate(self.facts)]
        return Drawing(low + (10 + 16 * len(self.facts) if self.facts else 0), left, shapes, self._keys())

    def _words_at(
        self, ends: Mapping[str, float], texts: Mapping[str, str], room: float
    ) -> tuple[float, dict[str, float]]:
        """The share of the room that the axis gets, and behind which place on it each bar's words stand: behind the
        bar, or behind a limit that would go through them."""
        starts = {
            name: max(end, self.axis.share(self.ranges[name][1])) if name in self.ranges else end
            for name, end in ends.items()
        }
        said = [name for name, text in texts.items() if text]
        share = _room_for_bars([(ends[name], texts[name]) for name in said], room)
        for limit in sorted(map(self.axis.share, self.limits.values())):
            for name in said:
                begin = starts[name] * share * room + _GAP_PX
                if begin - 4 < limit * share * room < begin + text_width_px(texts[name]) + 4:
                    starts[name] = max(limit, starts[name])
        return min(share, _room_for_bars([(starts[name], texts[name]) for name in said], room)), starts

    def _boxes(self, share: float, top: float) -> Iterator[Shape]:
        for part, fill in self._fills().items():
            where = [
                (low * share, top + row * self.row_px + 6, (high - low) * share, self.row_px - 12)
                for row, (low, high) in enumerate(self._stretches(part))
                if high > low
            ]
            edge = PAPER if fill.hatch or all(width > 0.008 for _, _, width, _ in where) else "none"
            yield Boxes(where, fill.color, "none" if fill.color == "none" else edge, hatch=fill.hatch)

    def _points(self, share: float, top: float) -> Iterator[Shape]:
        """A point in each row, and what leads to it: its range, or dots from the axis."""
        rows = {name: top + (row + 0.5) * self.row_px for row, name in enumerate(self.bars)}
        for part, fill in self._fills().items():
            for name, bar in self.bars.items():
                if part in bar:
                    x = self.axis.share(bar[part])
                    low, high = map(self.axis.share, self.ranges.get(name, (0.0, 0.0)))
                    yield (
                        Polyline([(low * share, rows[name]), (high * share, rows[name])], INK)
                        if name in self.ranges
                        else Polyline([(0.0, rows[name]), (x * share, rows[name])], fill.color, (1, 3), 1.2)
                    )
                    yield Marks([(max(x, 0.0) * share, rows[name])], fill.color, "o" if x >= 0 else "<")

    def _text(self, bar: Mapping[str, float]) -> str:
        """A bar's whole length in words, with an arrow where it goes on beyond the axis."""
        whole = sum(bar.values())
        return self.show(whole) + ("  ▶" if self.axis.share(whole) > 1 else "") if self.show is not None else ""

    def _stretches(self, part: str) -> list[tuple[float, float]]:
        """Where a part begins and ends in each bar, as shares of the axis, cut at its ends."""
        found = []
        for bar in self.bars.values():
            before = 0.0
            for name, value in bar.items():
                if name == part or self.apart:
                    break
                before += value
            low, high = self.axis.share(before), self.axis.share(before + bar.get(part, 0.0))
            found.append((min(max(low, 0.0), 1.0), min(max(high, 0.0), 1.0)))
        return found


def _room_for_bars(bars: list[tuple[float, str]], room: float) -> float:
    """The share of a narrow panel's room that the axis gets, so that each text has room behind its bar (its end).

    >>> _room_for_bars([(0.5, "1 s"), (0.1, "20 ms")], 100), round(_room_for_bars([(1.0, "2 GB")], 100), 2)
    (1.0, 0.79)
    """
    most = [(room + FREE_PX - _GAP_PX - text_width_px(text)) / room / end for end, text in bars if end > 0]
    return max(min([1.0, *most]), _MIN)
