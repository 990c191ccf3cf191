"""A block of a GPT cut over GPUs: its matrices, and what a GPU holds and sends behind each."""

from __future__ import annotations

from typing import NamedTuple

from course_lib.draw.colors import COLORS, RANK_COLORS, ink_on
from course_lib.draw.panels import Sketch
from course_lib.draw.panels.drawing import FAINT, Boxes, Key, Shape, Words, beside
from course_lib.draw.panels.letters import wide_px
from course_lib.draw.panels.sketch import COLUMNS, ROWS, WHOLE, cut, rank_keys
from course_lib.draw.units import format_bytes, format_count
from course_lib.tensor_parallel import CutStep
from course_lib.widgets.tensor.model import TensorSetting

__all__ = ["block_panel"]

_QUIET = "nothing crosses"
_ALL_REDUCE = Key("all-reduce", COLORS["vermillion"])
_GATHER = Key("all-gather", COLORS["vermillion"])
_SCATTER = Key("reduce-scatter", COLORS["blue"])
_LEFT_PX = 14.0  # for the arrowhead of the backward pass
_TOP, _HIGH = 36.0, 64.0  # of the matrices
_RIBBON = 24.0
_FORWARD, _BACKWARD = _TOP + _HIGH + 26, _TOP + _HIGH + 92
_BOTTOM = _BACKWARD + _RIBBON + 18


class _Matrix(NamedTuple):
    """A matrix of a block, cut one `way` from `cut` on; `size` in h², those of a layer that keeps the width."""

    name: str
    way: str
    size: int
    cut: str


_MATRICES = (
    _Matrix("q, k, v", COLUMNS, 3, "heads"),
    _Matrix("output", ROWS, 1, "heads"),
    _Matrix("up", COLUMNS, 4, "MLPs"),
    _Matrix("down", ROWS, 4, "MLPs"),
)
_GATES = len(_MATRICES) + 1  # before, between and behind them, each as wide as h²
_UNIT = 1 / (sum(matrix.size for matrix in _MATRICES) + _GATES)


def block_panel(setting: TensorSetting) -> Sketch:
    """The matrices from left to right, as wide as they have parameters; below, what GPUs hold in each pass."""
    step, sent = setting.step(), setting.message_bytes
    shapes: list[Shape] = []
    for matrix, left in zip(_MATRICES, _lefts(), strict=True):
        middle, gpus = left + matrix.size * _UNIT / 2, step.over(matrix.cut)
        shapes += cut((left, _TOP, matrix.size * _UNIT, _HIGH), matrix.way if gpus > 1 else WHOLE, gpus)
        shapes += [Words(middle, 8, matrix.name, bold=True)]
        shapes.append(Words(middle, 25, matrix.way if gpus > 1 else WHOLE, color=FAINT))
    return Sketch(
        title=f"One of {format_count(setting.layers, 'block')}, on {format_count(setting.gpus, 'GPU')}",
        origin="computed",
        label=_label(step, sent),
        wide=True,
        shapes=[*shapes, *_pass(_FORWARD, step, sent, forward=True), *_pass(_BACKWARD, step, sent, forward=False)],
        height_px=_BOTTOM,
        left_px=_LEFT_PX,
        keys=[*rank_keys(setting.gpus)[0 if step.over("MLPs") > 1 else -1 :], *_crossing(step)],
    )


def _crossing(step: CutStep) -> list[Key]:
    """The collectives that cross in a block."""
    if step.over("sequence") > 1:
        return [_GATHER, _SCATTER]
    return [_ALL_REDUCE] if step.over("MLPs") > 1 else []


def _label(step: CutStep, sent: float) -> str:
    parts = [matrix for matrix in _MATRICES if step.over(matrix.cut) > 1]
    if not parts:
        return "every GPU has every matrix whole, and nothing crosses"
    cuts = ", ".join(f"{matrix.name} by {matrix.way}" for matrix in parts)
    if step.over("sequence") > 1:
        again = ", and backward once more the gathers" if step.over("gathered again") > 1 else ""
        return (
            f"{cuts}, each in {step.ranks} parts. Forward all-gathers before q, k, v and up, reduce-scatters after "
            f"output and down, in each of which a GPU sends {format_bytes(sent / 2)}; backward the mirror of it{again}"
        )
    ends = [matrix.name for matrix in parts if matrix.way == ROWS]
    begins = [matrix.name for matrix in parts if matrix.way == COLUMNS]
    return (
        f"{cuts}, each in {step.ranks} parts. Forward after {' and '.join(ends)} an all-reduce, in which a GPU sends "
        f"{format_bytes(sent)}; backward as much before {' and '.join(begins)}"
    )


def _lefts() -> list[float]:
    """Where each matrix begins; behind each is a gate."""
    before = [sum(matrix.size for matrix in _MATRICES[:number]) for number in range(len(_MATRICES))]
    return [(number + 1 + size) * _UNIT for number, size in enumerate(before)]


def _pass(top: float, step: CutStep, sent: float, *, forward: bool) -> list[Shape]:
    """A ribbon in the colors of who holds it: parts between two matrices that are cut, and whole, or by tokens, beside
    them."""
    name, head, end = ("forward", "▶", 1.0) if forward else ("backward", "◀", 0.0)
    bands = min(step.ranks, len(RANK_COLORS))
    by_tokens = step.over("sequence") > 1
    shapes: list[Shape] = [Words(0, top - 10, name, "start", FAINT)]
    shapes.append(Words(end, top + _RIBBON / 2, head, color=FAINT, dx_px=8 if forward else -8))
    shapes += cut((0.0, top, 1.0, _RIBBON), ROWS if by_tokens else WHOLE, bands)
    lefts = _lefts()
    for first, second in ((0, 1), (2, 3)):
        if step.over(_MATRICES[first].cut) == 1:
            continue
        begin, stop = lefts[first], lefts[second] + _MATRICES[second].size * _UNIT
        if forward and not by_tokens:
            begin += _MATRICES[first].size * _UNIT / 2
        elif not by_tokens:
            stop -= _MATRICES[second].size * _UNIT / 2
        shapes += cut((begin, top, stop - begin, _RIBBON), ROWS, bands)
        gates = _gates(begin, stop, by_tokens=by_tokens, forward=forward)
        for left, letter, key in gates:
            shapes += _gate(left, top, letter, key, sent)
        if by_tokens:
            text = f"a GPU sends {format_bytes(sent / 2)} at each end"
            room = wide_px(text) / (stop - begin)
        else:
            text = _QUIET
            room = (wide_px(text) / 2 + wide_px(format_bytes(sent)) + 8) / ((stop - begin + _UNIT) / 2)
        shapes.append(Words((begin + stop) / 2, top + _RIBBON + 10, text, color=FAINT, from_px=room))
    return shapes


def _gates(begin: float, stop: float, *, by_tokens: bool, forward: bool) -> list[tuple[float, str, Key]]:
    """Where something crosses: its left edge, its letter, and what it is."""
    if by_tokens:
        keys = (_GATHER, _SCATTER) if forward else (_SCATTER, _GATHER)
        return [(begin - _UNIT / 2, "", keys[0]), (stop, "", keys[1])]
    return [(stop, "g", _ALL_REDUCE)] if forward else [(begin - _UNIT, "f", _ALL_REDUCE)]


def _gate(left: float, top: float, letter: str, key: Key, sent: float) -> list[Shape]:
    """A collective between two matrices, and what a GPU sends in it; without a letter it has half the room."""
    if not letter:
        return [Boxes([(left, top - 2, _UNIT / 2, _RIBBON + 4)], key.color)]
    middle = left + _UNIT / 2
    return [
        Boxes([(left, top - 2, _UNIT, _RIBBON + 4)], key.color),
        Words(middle, top + _RIBBON / 2, letter, color=ink_on(key.color), bold=True),
        beside(middle, top + _RIBBON + 10, format_bytes(sent), _LEFT_PX),
    ]
