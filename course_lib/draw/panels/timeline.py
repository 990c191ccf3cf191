"""Timelines: what each member does, and when."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from course_lib.draw.colors import COLORS, ink_on
from course_lib.draw.panels.drawing import (
    NARROW_PX,
    PAPER,
    Box,
    Boxes,
    Drawing,
    Key,
    Marks,
    Shape,
    Text,
    frame,
    rows_down,
    text_width_px,
)
from course_lib.draw.panels.panel import Panel, axis

_NARROW = 0.008  # of the width: an edge would hide such a bar


class Stretch(NamedTuple):
    """What the member of a row does for a while; `now` outlines it."""

    row: int
    start_s: float
    end_s: float
    text: str = ""
    now: bool = False


class Lane(NamedTuple):
    """Stretches of one kind: their color, and where they lie in the height of a row, from its top (0) to 1.

    Attributes:
        edge: whether they stand apart from each other by a line.
        key: whether the legend names the lane.
        least: a stretch is at least this wide (a share of the width), so that short messages can be seen.
    """

    color: str
    stretches: Sequence[Stretch]
    top: float = 0.06
    height: float = 0.88
    edge: bool = True
    key: bool = True
    least: float = 0.0005


class Events(NamedTuple):
    """A symbol and its color, and in which rows it stands, and when (in seconds)."""

    symbol: str
    color: str
    places: Sequence[tuple[int, float]]


@dataclass(frozen=True, kw_only=True)
class Timeline(Panel):
    """A row for each member; lanes by name, back to front; what lies beyond `seconds` is left out.

    Attributes:
        outline: the color of what is outlined.
        time, unit: the name of the axis, and the unit of `seconds` (see `axis`).
        events: symbols in the rows, by name.
        keys: more entries of the legend.
        grid: thin lines at round times.
    """

    rows: Sequence[str]
    lanes: Mapping[str, Lane]
    seconds: float
    row_px: float = 26.0
    outline: str = COLORS["vermillion"]
    time: str = "time"
    unit: str = "s"
    events: Mapping[str, Events] = field(default_factory=dict)
    keys: Sequence[Key] = ()
    grid: bool = False

    def drawing(self, width_px: float = NARROW_PX) -> Drawing:
        across = axis(self.time, [self.seconds], self.unit, most=6)
        shapes, left = rows_down(self.rows, self.row_px)
        outlined = any(s.now for lane in self.lanes.values() for s in lane.stretches)
        ticks = {across.share(value): text for value, text in across.ticks.items()}
        shapes += frame(
            self._bottom, left, ticks, across.name, {}, "", width_px=width_px, grid="x" if self.grid else ""
        )
        for lane in self.lanes.values():
            apart, thin, now = self._boxes(lane)
            opacity = 0.45 if outlined and lane.edge else 1.0
            shapes += [Boxes(apart, lane.color, PAPER if lane.edge else "none", opacity=opacity)]
            shapes += [Boxes(thin, lane.color, opacity=opacity), Boxes(now, lane.color, self.outline, 2.0)]
            shapes += self._texts(lane)
        keys = [Key(name, lane.color) for name, lane in self.lanes.items() if lane.key]
        for name, (symbol, color, places) in self.events.items():
            shapes.append(
                Marks([(at_s / self.seconds, (row + 0.5) * self.row_px) for row, at_s in places], color, symbol)
            )
            keys.append(Key(name, color, symbol=symbol))
        shown = [shape for shape in shapes if not (isinstance(shape, Boxes) and not shape.where)]
        return Drawing(self._bottom + 36, left, shown, [*keys, *self.keys])

    @property
    def _bottom(self) -> float:
        return len(self.rows) * self.row_px

    def _boxes(self, lane: Lane) -> tuple[list[Box], list[Box], list[Box]]:
        """Boxes wide enough for an edge, those that are not, and those to outline."""
        wide: list[Box] = []
        thin: list[Box] = []
        now: list[Box] = []
        for s in lane.stretches:
            start, end = max(s.start_s, 0.0) / self.seconds, min(s.end_s, self.seconds) / self.seconds
            if end <= start:
                continue
            box = start, (s.row + lane.top) * self.row_px, max(end - start, lane.least), lane.height * self.row_px
            (now if s.now else wide if end - start > _NARROW else thin).append(box)
        return wide, thin, now

    def _texts(self, lane: Lane) -> list[Shape]:
        """Texts in the boxes, where these are wide enough for them."""
        color, middle = ink_on(lane.color) if lane.color.startswith("#") else "ink", lane.top + lane.height / 2
        shown = [s for s in lane.stretches if s.text and s.start_s < s.end_s <= self.seconds]
        places = [((s.start_s + s.end_s) / 2 / self.seconds, (s.row + middle) * self.row_px) for s in shown]
        widest = max((text_width_px(s.text) for s in shown), default=0.0)  # boxes of one length are all named, or none
        rooms = [(widest + 2) * self.seconds / (s.end_s - s.start_s) for s in shown]
        return [
            Text(*place, s.text, color=color, from_px=room) for s, place, room in zip(shown, places, rooms, strict=True)
        ]
