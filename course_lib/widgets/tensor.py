"""The tensor explorer: what a GPU holds, sends and waits for in one step of a GPT, cut by cut."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from course_lib.draw.chapters.model_parallel import cut_bars
from course_lib.draw.colors import COLORS, RANK_COLORS, ink_on
from course_lib.draw.panels import Bars, Sketch, Table, axis
from course_lib.draw.panels.drawing import FAINT, Boxes, Key, Shape, Text, text_at, text_width_px
from course_lib.draw.panels.panel import COLUMNS, ROWS, WHOLE, cut, rank_keys
from course_lib.draw.units import (
    format_bytes,
    format_count,
    format_parameters,
    format_rate,
    format_seconds,
    format_share,
)
from course_lib.tensor_parallel import CUTS, CutStep, gpt_parameters
from course_lib.widgets.controls import disable, nearest, number, offer, rate_slider, scale
from course_lib.widgets.settings import EVERY, SettingExplorer, control

GPUS_PER_MACHINE = 8
GPUS = (1, 2, 4, 8, 16, 32, 64)
HEADS = (8, 12, 16, 20, 24, 32, 64, 96)


_VOCABULARIES = [256, 32_000, 51_200, 128_000, 256_000]


def _teraflops(flops_per_s: float) -> str:
    return f"{flops_per_s / 1e12:g} TFLOP/s"


@dataclass(frozen=True)
class TensorSetting:
    """All that the controls say. `sequences` are those of a step, each of `sequence` tokens; `memory_bytes` has a
    GPU, and `cut` is one of CUTS: everything up to it is cut."""

    cut: str = control(CUTS[0], scale, "cut so far", CUTS, only=True, book=EVERY, about="everything up to it is cut")
    gpus: int = control(8, scale, "GPUs", GPUS, book=EVERY)
    sequences: int = control(8, scale, "sequences", [1, 2, 4, 8, 16, 32, 64], book=[1, 4, 8, 16], about="of a step")
    sequence: int = control(1024, scale, "tokens of each", [2**k for k in range(8, 16)], show="{:,}".format)
    layers: int = control(72, number, "blocks", 1, 128)
    hidden: int = control(3072, scale, "width", [768, 1024, 1536, 1920, 2304, 3072, 4096, 8192, 12288])
    heads: int = control(32, scale, "heads", HEADS)
    vocabulary: int = control(51_200, scale, "vocabulary", _VOCABULARIES, show="{:,}".format)
    memory_bytes: float = control(32e9, scale, "a GPU has", [16e9, 24e9, 32e9, 40e9, 80e9, 141e9], show=format_bytes)
    flops_per_s: float = control(39e12, scale, "computes", [39e12, 100e12, 200e12, 500e12], show=_teraflops)
    inside_bytes_per_s: float = control(120e9, rate_slider, "in a machine", low=1e9)
    outside_bytes_per_s: float = control(
        100e9,
        scale,
        "out of it",
        [12.5e9, 25e9, 50e9, 100e9, 200e9, 400e9],
        show=format_rate,
        book=[12.5e9, 100e9],
        about="of all adapters of a machine together",
    )

    def step(self, cut: str | None = None) -> CutStep:
        """The step of the setting, or the same with another cut."""
        sizes = self.layers, self.hidden, self.vocabulary, self.sequence, self.sequences
        return CutStep(*sizes, self.gpus, self.cut if cut is None else cut)

    @property
    def bars(self) -> dict[str, dict[str, float]]:
        """What a GPU holds by each cut so far, as the bars of the page."""
        return {cut: self.step(cut).held_bytes for cut in CUTS[: CUTS.index(self.cut) + 1]}

    @property
    def held_bytes(self) -> float:
        """In all, by this cut."""
        return sum(self.step().held_bytes.values())

    @property
    def inside(self) -> bool:
        """Whether all GPUs are in one machine."""
        return self.gpus <= GPUS_PER_MACHINE

    @property
    def message_bytes(self) -> float:
        """That a GPU sends in one all-reduce of activations."""
        return 2 * (self.gpus - 1) / self.gpus * 2 * self.step().tokens * self.hidden

    @property
    def parts_s(self) -> dict[str, float]:
        """Seconds of a step; nothing overlaps. Rings that leave a machine go as fast as the links outside."""
        inside, outside = self.inside_bytes_per_s, self.outside_bytes_per_s
        bytes_per_s = inside if self.inside else min(inside, outside)
        step = self.step()
        return {"computing": step.flops / self.flops_per_s, "all-reduces": step.sent_bytes / bytes_per_s}

    @property
    def efficiency(self) -> float:
        """The least time of so many GPUs, in which they share all operations and wait for nothing, over their time."""
        least_s = self.step()._replace(ranks=1).flops / self.gpus / self.flops_per_s
        return least_s / sum(self.parts_s.values())


def _divisors(number: int, among: Iterable[int]) -> list[int]:
    """Those that divide a number: heads share a width evenly, and GPUs share heads.

    >>> _divisors(3072, HEADS), _divisors(12, GPUS)
    ([8, 12, 16, 24, 32, 64, 96], [1, 2, 4])
    """
    return [each for each in among if number % each == 0] or [1]


# A block of a GPT cut over GPUs: its matrices, and what a GPU holds and sends behind each.

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
        shapes += [Text(middle, 8, matrix.name, bold=True)]
        shapes.append(Text(middle, 25, matrix.way if gpus > 1 else WHOLE, color=FAINT))
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
    shapes: list[Shape] = [Text(0, top - 10, name, "start", FAINT)]
    shapes.append(Text(end, top + _RIBBON / 2, head, color=FAINT, dx_px=8 if forward else -8))
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
            room = text_width_px(text) / (stop - begin)
        else:
            text = _QUIET
            room = (text_width_px(text) / 2 + text_width_px(format_bytes(sent)) + 8) / ((stop - begin + _UNIT) / 2)
        shapes.append(Text((begin + stop) / 2, top + _RIBBON + 10, text, color=FAINT, from_px=room))
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
        Text(middle, top + _RIBBON / 2, letter, color=ink_on(key.color), bold=True),
        text_at(middle, top + _RIBBON + 10, format_bytes(sent), _LEFT_PX),
    ]


# The pictures of the tensor explorer: a GPU's memory by each cut, a block that is cut, where a step's time goes.

_COLORS = {"computing": COLORS["blue"], "all-reduces": COLORS["vermillion"]}


def describe_tensor(setting: TensorSetting) -> str:
    """The setting in words."""
    parameters = gpt_parameters(setting.layers, setting.hidden, setting.vocabulary, setting.sequence)
    where = "one machine" if setting.inside else f"machines of {GPUS_PER_MACHINE}"
    held, room = format_bytes(setting.held_bytes), format_bytes(setting.memory_bytes)
    fits = "it fits" if setting.held_bytes <= setting.memory_bytes else "it does not fit"
    return (
        f"{format_parameters(parameters)} parameters on {format_count(setting.gpus, 'GPU')} in {where}, cut: "
        f"{setting.cut}. Each must hold {held} and has {room}: {fits}. Efficiency {format_share(setting.efficiency)}."
    )


def _facts(setting: TensorSetting) -> Table:
    parts = setting.parts_s
    facts = {
        "tokens of a step": f"{setting.step().tokens:,}",
        "a GPU holds": format_bytes(setting.held_bytes),
        "sends": format_bytes(setting.step().sent_bytes),
        "computes": format_seconds(parts["computing"]),
        "waits": format_seconds(parts["all-reduces"]),
        "efficiency": format_share(setting.efficiency),
    }
    return Table(facts, "computed")


def _time(setting: TensorSetting) -> Bars:
    parts = setting.parts_s
    return Bars(
        title="Where a step's time goes",
        origin="computed",
        label="; ".join(f"{name}: {format_seconds(seconds)}" for name, seconds in parts.items()),
        bars={name: {name: seconds} for name, seconds in parts.items()},
        axis=axis("time", parts.values(), "s"),
        colors=_COLORS,
        show=format_seconds,
    )


class TensorExplorer(SettingExplorer):
    """A GPT cut by tensor parallelism: what a GPU must hold, cut by cut, what crosses in a block, and what it costs.

    Everything is computed: rings, 2 bytes a number on the wire, no overlap, products as fast on small parts as on
    large ones.
    """

    Setting = TensorSetting

    def __init__(self, **asked: Any) -> None:
        first = TensorSetting(**asked)
        self._heads, self._gpus = sorted({*HEADS, first.heads}), sorted({*GPUS, first.gpus})
        super().__init__(**asked)

    @staticmethod
    def pictures(setting: TensorSetting) -> list[str | Table | Sketch | Bars]:
        """All that is shown of a setting."""
        return [
            describe_tensor(setting),
            cut_bars(setting.bars, setting.memory_bytes),
            _facts(setting),
            block_panel(setting),
            _time(setting),
        ]

    def prepare(self) -> None:
        """Offer the heads that share the width evenly, and the GPUs that share the heads: no head is cut."""
        controls = self.controls
        for name, whole, among in (("heads", "hidden", self._heads), ("gpus", "heads", self._gpus)):
            possible = _divisors(controls[whole].value, among)
            offer(controls[name], {str(each): each for each in possible}, nearest(controls[name].value, possible))
        inside = controls["gpus"].value <= GPUS_PER_MACHINE
        disable(controls["outside_bytes_per_s"], inside, "all GPUs are in one machine")
