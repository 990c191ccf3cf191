"""A cut of a layer as a sketch: who holds which part of input, weights and output, and what crosses in each pass."""

from __future__ import annotations

from typing import NamedTuple

from course_lib.draw.colors import RANK_COLORS, ink_on
from course_lib.draw.looks import FILLS
from course_lib.draw.panels import Sketch
from course_lib.draw.panels.drawing import FAINT, PAPER, Boxes, Shape, Words
from course_lib.draw.panels.sketch import COLUMNS, ROWS, WHOLE, cut
from course_lib.draw.units import format_bytes
from course_lib.widgets.split.model import SplitSetting, held_elements, parts_of, traffic_of

__all__ = ["ELEMENT_BYTES", "cut_panel"]

ELEMENT_BYTES = 4
_EACH = "rows of each picture"  # drawn as three pictures
_ADDENDS = "an addend on each rank"  # drawn as wholes that lie on each other, one a rank
_NOTHING = "nothing"
_NAMES = ("input x", "weights W", "output y")
_WIDE = 0.24
_TOP, _HIGH = 36.0, 48.0
_PASS_TOP, _PASS = _TOP + _HIGH + 34, 40.0
_LONGEST = 0.66  # of the width has an arrow at most, so that its bytes have room behind it


class _Cut(NamedTuple):
    """How input, weights and output are cut, what a rank has of each, and what crosses in each pass."""

    ways: tuple[str, ...]
    has: tuple[str, ...]
    forward: str
    backward: str


_OUTPUTS = _Cut((WHOLE, ROWS, COLUMNS), ("all", "outputs", "outputs"), "y gathered", "gradient of x summed")
_INPUTS = _Cut((COLUMNS, COLUMNS, _ADDENDS), ("inputs", "inputs", "an addend"), "y summed", "gradient of x gathered")
_CUTS = {
    "examples": _Cut((ROWS, WHOLE, ROWS), ("examples", "all", "examples"), _NOTHING, "gradient of W summed"),
    "regions": _Cut(
        (_EACH, WHOLE, _EACH), ("rows of each", "all", "rows of each"), "halos", "halos, gradient of W summed"
    ),
    "outputs": _OUTPUTS,
    "output channels": _OUTPUTS._replace(has=("all", "channels", "channels")),
    "inputs": _INPUTS,
    "input channels": _INPUTS._replace(has=("channels", "channels", "an addend")),
}


def cut_panel(setting: SplitSetting, split: str, notes: str, most_bytes: float) -> Sketch:
    """Input, weights and output in the ranks' colors; below, an arrow for each pass, `most_bytes` the longest."""
    traffic = traffic_of(setting, split)
    sent = {"forward": max(traffic.forward_bytes), "backward": max(traffic.backward_bytes)}
    plan = _plan(split, setting.world_size, *sent.values())
    held = [ELEMENT_BYTES * count for count in held_elements(setting, split).values()]
    shapes: list[Shape] = [
        Words(left, _TOP + _HIGH / 2, sign, color=FAINT) for left, sign in ((1 / 3, "×"), (2 / 3, "="))
    ]
    for place, (name, way, has, count) in enumerate(zip(_NAMES, plan.ways, plan.has, held, strict=True)):
        middle = (2 * place + 1) / 6
        shapes += [Words(middle, 8, name, bold=True), Words(middle, 25, has, color=FAINT)]
        shapes += _part(middle - _WIDE / 2, way, parts_of(setting, split))
        shapes.append(Words(middle, _TOP + _HIGH + 11, format_bytes(count)))
    words = {"forward": plan.forward, "backward": plan.backward}
    for name, count in sent.items():
        shapes += _arrow(name, words[name], count, most_bytes)
    crosses = "; ".join(f"{name} {words[name]}: {format_bytes(count)}" for name, count in sent.items())
    return Sketch(
        title=f"By {split}: {format_bytes(traffic.busiest_bytes)} sent{notes}",
        origin="computed",
        label=f"a rank has {_has(plan, held)}; {crosses}",
        shapes=shapes,
        height_px=_PASS_TOP + _PASS + 28,
    )


def _plan(split: str, ranks: int, forward_bytes: int, backward_bytes: int) -> _Cut:
    """The cut, and of what crosses what is there: one rank has all, and a kernel of one row borrows none."""
    plan = _CUTS[split]
    ways, has = (plan.ways, plan.has) if ranks > 1 else ((WHOLE,) * 3, ("all",) * 3)
    backward = plan.backward if forward_bytes or split != "regions" else _CUTS["examples"].backward
    return _Cut(ways, has, plan.forward if forward_bytes else _NOTHING, backward if backward_bytes else _NOTHING)


def _has(plan: _Cut, held: list[float]) -> str:
    return ", ".join(
        f"{format_bytes(count)} of {name} ({has})" for name, has, count in zip(_NAMES, plan.has, held, strict=True)
    )


def _part(left: float, way: str, ranks: int) -> list[Shape]:
    """A tensor in the ranks' colors."""
    if way == _ADDENDS:
        return _addends(left, min(ranks, len(RANK_COLORS)))
    if way == _EACH:
        each = _WIDE / 3
        boxes = ((left + number * each, _TOP, each - 0.015, _HIGH) for number in range(3))
        return [shape for box in boxes for shape in cut(box, ROWS, ranks)]
    return cut((left, _TOP, _WIDE, _HIGH), way, ranks)


def _addends(left: float, cards: int) -> list[Shape]:
    """Wholes that lie on each other."""
    wide, high = _WIDE - 0.02 * (cards - 1), _HIGH - 5 * (cards - 1)
    shapes: list[Shape] = [
        Boxes([(left + 0.02 * card, _TOP + 5 * (cards - 1 - card), wide, high)], RANK_COLORS[card], PAPER)
        for card in range(cards)
    ]
    ink = ink_on(RANK_COLORS[cards - 1])
    return [*shapes, Words(left + _WIDE - wide / 2, _TOP + high / 2, "Σ", color=ink, bold=True)]


def _arrow(name: str, words: str, count: float, most_bytes: float) -> list[Shape]:
    """What the busiest rank sends in a pass: forward to the right, backward to the left."""
    forward = name == "forward"
    top = _PASS_TOP + (0 if forward else _PASS)
    start, way = (0.0, 1) if forward else (1.0, -1)
    anchor = "start" if forward else "end"
    shapes: list[Shape] = [Words(start, top, f"{name}: {words}", anchor, FAINT)]
    if not count:
        return shapes
    long, color = _LONGEST * count / most_bytes, FILLS["passes"][name].color
    end = start + way * long
    return [
        *shapes,
        Boxes([(min(start, end), top + 12, long, 12)], color),
        Words(end, top + 18, "▶" if forward else "◀", anchor, color, -2 * way),
        Words(end, top + 18, format_bytes(count), anchor, dx_px=14 * way),
    ]
