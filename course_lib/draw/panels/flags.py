"""Flags: dotted lines at places across, each with its words above the drawing."""

from __future__ import annotations

from collections.abc import Mapping

from course_lib.draw.panels.drawing import FAINT, INK, Curve, Shape, Words, room_px
from course_lib.draw.panels.letters import wide_px

__all__ = ["flags", "flags_px"]

_FLAG_PX = 14.0


def flags(
    places: Mapping[str, float],
    top: float,
    bottom: float,
    left: float,
    wide: float,
    color: str = FAINT,
    dash: tuple[float, ...] = (2, 3),
) -> list[Shape]:
    """Dotted lines at places across, down to `bottom`, each with its words above `top`, in as many rows as they need:
    at its left, or at its right where there is no room."""
    shapes: list[Shape] = []
    for row, names in enumerate(_flag_rows(places, left, wide)):
        y = top - 8 - _FLAG_PX * row
        for name in names:
            x, fits = places[name], _fits_left(places[name], name, left, wide)
            shapes.append(Curve([(x, y - 5), (x, bottom)], color, dash, 1.5))
            shapes.append(Words(x, y, name, "end" if fits else "start", INK, -4 if fits else 4))
    return shapes


def flags_px(places: Mapping[str, float], left: float, wide: float) -> float:
    """The height that the words of `flags` need."""
    return _FLAG_PX * len(_flag_rows(places, left, wide))


def _flag_rows(places: Mapping[str, float], left: float, wide: float) -> list[list[str]]:
    """Names from left to right, the lowest row first: no line goes through the words of a row below."""
    rows: list[list[str]] = []
    ends: list[float] = []
    for name in sorted(places, key=lambda name: places[name]):
        at, needed = places[name] * room_px(left, wide), wide_px(name) + 8
        begin, end = (at - needed, at) if _fits_left(places[name], name, left, wide) else (at, at + needed)
        row = next((row for row, taken in enumerate(ends) if taken <= begin), len(rows))
        if row == len(rows):
            rows.append([])
            ends.append(0.0)
        rows[row].append(name)
        ends[row] = end
    return rows


def _fits_left(x: float, name: str, left: float, wide: float) -> bool:
    return wide_px(name) + 4 <= x * room_px(left, wide) + left
