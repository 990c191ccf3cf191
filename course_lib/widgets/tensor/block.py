"""A block of a GPT cut among tensor-parallel ranks: its matrices, and what a rank holds and sends behind each."""

from __future__ import annotations

from typing import NamedTuple

from course_lib.draw.colors import COLORS, RANK_COLORS, ink_on
from course_lib.draw.panels import Sketch
from course_lib.draw.panels.drawing import FAINT, Boxes, Key, Shape, Words, beside
from course_lib.draw.panels.letters import wide_px
from course_lib.draw.panels.sketch import COLUMNS, ROWS, WHOLE, cut, rank_keys
from course_lib.draw.units import format_bytes, format_count
from course_lib.widgets.tensor.model import RANKS_PER_NODE, TensorSetting

__all__ = ["block_panel"]

_SENT, _QUIET = COLORS["vermillion"], "nothing crosses"
_LEFT_PX = 14.0  # for the arrowhead of the backward pass
_TOP, _HIGH = 36.0, 64.0  # of the matrices
_RIBBON = 24.0
_FORWARD, _BACKWARD = _TOP + _HIGH + 26, _TOP + _HIGH + 92
_BOTTOM = _BACKWARD + _RIBBON + 18


class _Matrix(NamedTuple):
    """A matrix of a block, cut one `way`; `size` in h², the parameters of an output that is as wide as its input."""

    name: str
    way: str
    size: int


_MATRICES = (
    _Matrix("q, k, v", COLUMNS, 3),
    _Matrix("output", ROWS, 1),
    _Matrix("up", COLUMNS, 4),
    _Matrix("down", ROWS, 4),
)
_GATES = len(_MATRICES) + 1  # before, between and behind them, each as wide as h²
_UNIT = 1 / (sum(matrix.size for matrix in _MATRICES) + _GATES)


def block_panel(setting: TensorSetting) -> Sketch:
    """The matrices from left to right, as wide as they have parameters; below, what ranks hold in each pass."""
    ranks, sent = setting.tensor, setting.crossing_bytes
    where = "in a node" if setting.inside else f"across nodes of {RANKS_PER_NODE}"
    shapes: list[Shape] = []
    for matrix, left in zip(_MATRICES, _lefts(), strict=True):
        middle = left + matrix.size * _UNIT / 2
        shapes += cut((left, _TOP, matrix.size * _UNIT, _HIGH), matrix.way, ranks)
        shapes += [Words(middle, 8, matrix.name, bold=True)]
        shapes.append(Words(middle, 25, matrix.way if ranks > 1 else WHOLE, color=FAINT))
    return Sketch(
        title=f"One of {format_count(setting.layers, 'block')}, on {format_count(ranks, 'tensor rank')} {where}",
        origin="computed",
        label=_label(ranks, sent),
        wide=True,
        shapes=[*shapes, *_pass(_FORWARD, ranks, sent, forward=True), *_pass(_BACKWARD, ranks, sent, forward=False)],
        height_px=_BOTTOM,
        left_px=_LEFT_PX,
        keys=[*rank_keys(ranks), Key("all-reduce", _SENT)] if ranks > 1 else rank_keys(1),
    )


def _label(ranks: int, sent: float) -> str:
    if ranks == 1:
        return "one rank has every matrix whole, and nothing crosses"
    cuts = ", ".join(f"{matrix.name} by {matrix.way}" for matrix in _MATRICES)
    return (
        f"{cuts}, each in {ranks} parts. Forward nothing crosses after q, k, v and up; after output and down an "
        f"all-reduce, in which a rank sends {format_bytes(sent)}. Backward as much crosses before up and before q, k, v"
    )


def _lefts() -> list[float]:
    """Where each matrix begins; behind each is a gate."""
    before = [sum(matrix.size for matrix in _MATRICES[:number]) for number in range(len(_MATRICES))]
    return [(number + 1 + size) * _UNIT for number, size in enumerate(before)]


def _pass(top: float, ranks: int, sent: float, *, forward: bool) -> list[Shape]:
    """A ribbon in the colors of who holds it: from the middle of one matrix to the end of the next it lies in parts,
    a stripe for the ranks of each color, and then an all-reduce makes it whole."""
    middle = top + _RIBBON / 2
    name, head, end = ("forward", "▶", 1.0) if forward else ("backward", "◀", 0.0)
    shapes: list[Shape] = [Words(0, top - 10, name, "start", FAINT)]
    shapes.append(Words(end, middle, head, color=FAINT, dx_px=8 if forward else -8))
    shapes += cut((0.0, top, 1.0, _RIBBON), WHOLE, ranks)
    if ranks == 1:
        return shapes
    lefts = _lefts()
    for first, second in ((0, 1), (2, 3)):
        begin, stop = lefts[first], lefts[second] + _MATRICES[second].size * _UNIT
        if forward:
            begin += _MATRICES[first].size * _UNIT / 2
        else:
            stop -= _MATRICES[second].size * _UNIT / 2
        room = (wide_px(_QUIET) / 2 + wide_px(format_bytes(sent)) + 8) / ((stop - begin + _UNIT) / 2)
        shapes += cut((begin, top, stop - begin, _RIBBON), ROWS, min(ranks, len(RANK_COLORS)))
        shapes += _gate(stop if forward else begin - _UNIT, top, "g" if forward else "f", sent)
        shapes.append(Words((begin + stop) / 2, top + _RIBBON + 10, _QUIET, color=FAINT, from_px=room))
    return shapes


def _gate(left: float, top: float, name: str, sent: float) -> list[Shape]:
    """An all-reduce between two matrices, and what a rank sends in it."""
    middle = left + _UNIT / 2
    return [
        Boxes([(left, top - 2, _UNIT, _RIBBON + 4)], _SENT),
        Words(middle, top + _RIBBON / 2, name, color=ink_on(_SENT), bold=True),
        beside(middle, top + _RIBBON + 10, format_bytes(sent), _LEFT_PX),
    ]
