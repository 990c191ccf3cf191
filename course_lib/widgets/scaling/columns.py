"""What a step is made of on more and more GPUs: a column for each number of them, with a remedy and without it."""

from __future__ import annotations

import math
from collections.abc import Iterable

from course_lib.draw.looks import FILLS
from course_lib.draw.panels import Sketch
from course_lib.draw.panels.drawing import FAINT, INK, Boxes, Curve, Key, Shape, frame, left_of
from course_lib.draw.units import format_count, format_seconds
from course_lib.scaling import ScalingPoint
from course_lib.widgets.scaling.model import PLAIN, RANKS, Scaling

__all__ = ["COLORS", "DASHES", "columns_panel", "crossings", "parts_of"]

COLORS = {
    "computing": FILLS["passes"]["backward"].color,
    "all-reduce under it": FILLS["passes"]["all-reduce"].color,
    "waiting": FILLS["passes"]["all-reduce, waited for"].color,
}
DASHES = {True: (INK, (6.0, 3.0)), False: (FAINT, (2.0, 3.0))}  # of a crossing: of this setting, and without its remedy
_TOP, _BOTTOM = 10.0, 170.0
_WIDE = 1 / len(RANKS)
_TICKS = (0.0, 0.25, 0.5, 0.75, 1.0)


def parts_of(point: ScalingPoint) -> dict[str, float]:
    """The seconds of a step: computing by itself, with an all-reduce under it, and waiting for one."""
    waiting_s = max(point.exposed_s, 0.0)
    under_s = min(max(point.communication_s - waiting_s, 0.0), point.compute_s)
    return dict(zip(COLORS, (point.compute_s - under_s, under_s, waiting_s), strict=True))


def crossings(scaling: Scaling) -> dict[str, tuple[int, bool]]:
    """Where all-reduces overtake the passes, in words: at so many GPUs, and whether it is this setting's."""
    plain = scaling.plain
    here, there = scaling.crossover, plain.crossover if plain else None
    found = {f"all-reduce overtakes at {here}": (here, True)} if here else {}
    return found | ({f"in {PLAIN} at {there}": (there, False)} if there else {})


def columns_panel(scaling: Scaling) -> Sketch:
    """Shares of a step; where a remedy is at work, the step without it stands faint at its left."""
    plain = scaling.plain
    points = scaling.points(RANKS)
    shapes = _columns(points, 0.36 if plain else 0.08, 0.56 if plain else 0.84, 1.0)
    keys = [Key(name, color) for name, color in COLORS.items()]
    if plain:
        shapes += _columns(plain.points(RANKS), 0.06, 0.26, 0.45)
    for name, (ranks, mine) in crossings(scaling).items():
        color, dash = DASHES[mine]
        column = math.ceil(math.log2(ranks))
        if column < len(RANKS):
            shapes.append(Curve([(column * _WIDE, _TOP - 6), (column * _WIDE, _BOTTOM)], color, dash))
            keys.append(Key(name, color, dash))
    here = RANKS.index(scaling.setting.ranks) if scaling.setting.ranks in RANKS else None
    if here is not None:
        shapes.append(Boxes([((here + 0.02) * _WIDE, _TOP - 3, 0.96 * _WIDE, _BOTTOM - _TOP + 3)], "none", INK, 2.0))
    x_ticks = {(column + 0.5) * _WIDE: f"{ranks:,}" for column, ranks in enumerate(RANKS)}
    y_ticks = {_BOTTOM - share * (_BOTTOM - _TOP): f"{share:.0%}" for share in _TICKS}
    left = left_of(y_ticks.values())
    return Sketch(
        title="What a step is made of" + (f"; faint: in {PLAIN}" if plain else ""),
        origin="computed",
        label=_label(scaling),
        wide=True,
        shapes=[*frame(_BOTTOM, left, x_ticks, "GPUs", y_ticks, ""), *shapes],
        height_px=_BOTTOM + 36,
        left_px=left,
        keys=keys,
    )


def _label(scaling: Scaling) -> str:
    parts = "; ".join(f"{name}: {format_seconds(seconds)}" for name, seconds in parts_of(scaling.here).items())
    return ". ".join([f"on {format_count(scaling.setting.ranks, 'GPU')}: {parts}", *crossings(scaling)])


def _columns(points: Iterable[ScalingPoint], left: float, wide: float, opacity: float) -> list[Shape]:
    """A column for each number of GPUs, `left` and `wide` in shares of its room."""
    steps = [parts_of(point) for point in points]
    high = _BOTTOM - _TOP
    shapes: list[Shape] = []
    for name, color in COLORS.items():
        where = []
        for column, parts in enumerate(steps):
            seconds = list(parts.values())
            place, whole_s = list(COLORS).index(name), sum(seconds)
            end, share = sum(seconds[: place + 1]) / whole_s, parts[name] / whole_s
            if share > 0:
                where.append(((column + left) * _WIDE, _BOTTOM - end * high, wide * _WIDE, share * high))
        shapes.append(Boxes(where, color, opacity=opacity))
    return shapes
