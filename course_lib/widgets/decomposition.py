"""The decomposition explorer: 4,096 numbers as a tensor of 2 to 12 modes, and what three formats keep of it."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import torch

from course_lib.decomposition import (
    function_on_grid,
    hosvd,
    load_photo,
    tensorize,
    train_digits_weight,
    truncated_svd,
    tt_svd,
)
from course_lib.draw.panels import Bars, Cell, Line, Lines, Matrix, Sketch, Table, axis
from course_lib.widgets.controls import disable, menu, number, scale, step_slider
from course_lib.widgets.decomposition_cuts import cutting_pictures
from course_lib.widgets.settings import EVERY, SteppedExplorer, control, control_of

SIDE = 64  # of the square in which every tensor is shown
FORMATS = ("two thin matrices", "Tucker", "tensor train")
CUTTING = "TT-SVD, cut by cut"  # is shown in place of a format
# Modes -> the parts of a pixel's row and of its column that make them.
CUTS = {
    2: ([8, 8], [8, 8]),
    3: ([4] * 3, [4] * 3),
    4: ([4, 2] * 2, [2, 4] * 2),
    6: ([2] * 6, [2] * 6),
    12: ([2, 1] * 6, [1, 2] * 6),
}
_FUNCTIONS = {
    "sin(x₁ + … + x_d)": lambda total: torch.sin(3 * total),
    "1/(1 + x₁ + … + x_d)": lambda total: 1 / (1 + total),
}
LAYER = "trained layer"
TENSORS = (LAYER, "photo", *_FUNCTIONS, "noise")


_ERRORS = [0.0, 1e-6, 1e-4, 1e-3, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5]


def _tensors(own: torch.Tensor | None) -> tuple[str, ...]:
    return TENSORS if own is None else (*TENSORS, "own")


@dataclass(frozen=True)
class DecompositionSetting:
    """All that the controls say. `limit` is "error" or "rank", and only that of the two counts; `step`: of CUTTING."""

    tensor: str = control_of(LAYER, lambda s, value: menu("tensor", _tensors(s.own), value), book=EVERY)
    shown: str = control("tensor train", menu, "shown", [*FORMATS, CUTTING], book=EVERY)
    limit: str = control("error", menu, "limit", {"relative error": "error", "largest rank": "rank"})
    relative_error: float = control(0.3, scale, "relative error", _ERRORS, show="{:g}".format, book=[0.1, 0.3])
    rank: int = control(4, number, "largest rank", 1, 32)
    modes: int = control(3, scale, "modes", CUTS, only=True, book=[2, 3, 6, 12])
    step: int = control(0, step_slider, "step", book=EVERY, about="of TT-SVD, cut by cut")
    own: torch.Tensor | None = None


class Kept(NamedTuple):
    """What a format keeps: the square made of it, numbers stored, relative error, and its ranks in words."""

    square: torch.Tensor
    numbers: int
    error: float
    ranks: str


@contextlib.contextmanager
def on_one_thread() -> Iterator[None]:
    """Let torch work on one thread: in matrices so small, threads only wait for each other."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


@functools.lru_cache(maxsize=64)
def tensor_of(name: str, modes: int, own: torch.Tensor | None = None) -> torch.Tensor:
    """The tensor: functions on a grid of as many points, matrices by blocks inside blocks."""
    if name in _FUNCTIONS:
        return function_on_grid(_FUNCTIONS[name], [round(SIDE ** (2 / modes))] * modes)
    return tensorize(_matrix(name) if own is None or name != "own" else own.double(), *CUTS[modes])


@functools.cache
def _matrix(name: str) -> torch.Tensor:
    if name == "photo":
        return load_photo(SIDE)
    if name == LAYER:
        return train_digits_weight()
    return torch.rand(SIDE, SIDE, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


def picture_of(name: str, tensor: torch.Tensor) -> torch.Tensor:  # [SIDE, SIDE]
    """A tensor as the square in which it is shown: pixels where they were, a function with its first modes down."""
    if name in _FUNCTIONS:
        return tensor.reshape(SIDE, SIDE)
    (rows, columns), d = CUTS[tensor.ndim], tensor.ndim
    pairs = tensor.reshape([n for pair in zip(rows, columns, strict=True) for n in pair])
    return pairs.permute([*range(0, 2 * d, 2), *range(1, 2 * d, 2)]).reshape(SIDE, SIDE)


@functools.lru_cache(maxsize=256)
def kept_of(setting: DecompositionSetting) -> dict[str, Kept]:
    """What each format keeps within the limit."""
    tensor = tensor_of(setting.tensor, setting.modes, setting.own)
    error, rank = (setting.relative_error, None) if setting.limit == "error" else (0.0, setting.rank)
    shown = functools.partial(picture_of, setting.tensor)
    square = shown(tensor)
    thin = truncated_svd(square, error * float(square.norm()), rank)
    tucker, train = hosvd(tensor, error, rank), tt_svd(tensor, error, rank)
    found = {
        "two thin matrices": (thin.full(), thin.numbers, f"{thin.rank}"),
        "Tucker": (shown(tucker.full()), tucker.numbers, "-".join(map(str, tucker.ranks))),
        "tensor train": (shown(train.full()), train.numbers, "-".join(map(str, train.ranks))),
    }
    norm = max(float(tensor.norm()), 1e-300)
    return {
        name: Kept(made, numbers, float((square - made).norm()) / norm, ranks)
        for name, (made, numbers, ranks) in found.items()
    }


# The pictures of the decomposition explorer: the tensor, what is kept of it, and the numbers that it takes.

_WHOLE = SIDE * SIDE
_GRAYS = [f"#{17 * level:02x}{17 * level:02x}{17 * level:02x}" for level in range(16)]


def describe_decomposition(setting: DecompositionSetting) -> str:
    """The setting in words: which format stores least, and whether any is smaller than the tensor."""
    numbers = {name: kept.numbers for name, kept in _kept(setting).items()}
    least = min(numbers, key=lambda name: numbers[name])
    limit = f"an error of {setting.relative_error:g}" if setting.limit == "error" else f"rank {setting.rank}"
    within = f"Within {limit}, in {setting.modes} modes"
    if numbers[least] >= _WHOLE:
        return f"{within}, every format takes more than the {_WHOLE:,} numbers of the tensor itself."
    alike = [name for name in FORMATS if numbers[name] == numbers[least]]
    store = "stores" if len(alike) == 1 and least != FORMATS[0] else "store"
    return f"{within}, {' and '.join(alike)} {store} least: {numbers[least]:,} of {_WHOLE:,} numbers."


def _kept(setting: DecompositionSetting) -> dict[str, Kept]:
    """The same for every choice of what is shown."""
    return kept_of(replace(setting, shown="", step=0))


def _facts(setting: DecompositionSetting, kept: dict[str, Kept]) -> Table:
    facts = {"whole": f"{_WHOLE:,} numbers"}
    for name, each in kept.items():
        facts[name] = f"{each.numbers:,} numbers, {each.error:.2%} off"
    facts[f"ranks of the {setting.shown}"] = kept[setting.shown].ranks
    return Table(facts, "computed")


@functools.lru_cache(maxsize=32)
def _original(name: str, modes: int, own: torch.Tensor | None) -> Matrix:
    """The tensor itself; remembered, so that it is not drawn again while others change."""
    tensor = tensor_of(name, modes, own)
    square = picture_of(name, tensor)
    return _square(f"The tensor: {' × '.join(map(str, tensor.shape))}", name, square, square, "as it is")


def _titles(shown: str) -> str:
    """What the square of a format is called."""
    return "What two thin matrices keep of it" if shown == FORMATS[0] else f"What a {shown} keeps of it"


def _square(title: str, name: str, square: torch.Tensor, whole: torch.Tensor, words: str) -> Matrix:
    low, high = float(whole.min()), float(whole.max())
    shares = (square - low) / max(high - low, 1e-12)
    levels = (shares.clamp(0, 1) * (len(_GRAYS) - 1)).round().int().tolist()
    cells = {level: Cell(color) for level, color in enumerate(_GRAYS)}
    return Matrix(
        title=title,
        origin="computed",
        label=f"{name} in {SIDE} × {SIDE} squares, {words}",
        cells=[[cells[level] for level in row] for row in levels],
        row_names=[""] * SIDE,
        column_names=[""] * SIDE,
        across=f"black {low:.2f}, white {high:.2f}; {words}",
        gap_px=0.0,
        min_px=4.0,
    )


def _numbers(kept: dict[str, Kept]) -> Bars:
    longest = max(_WHOLE, *(each.numbers for each in kept.values()))
    return Bars(
        title="Numbers stored",
        origin="computed",
        label="; ".join(f"{name}: {each.numbers:,}" for name, each in kept.items()),
        bars={"whole": {"numbers": _WHOLE}, **{name: {"numbers": each.numbers} for name, each in kept.items()}},
        axis=axis("numbers", [0], high=longest),
        show=lambda numbers: f"{numbers:,.0f}",
    )


def _by_modes(setting: DecompositionSetting) -> Lines:
    kept = {modes: _kept(replace(setting, modes=modes)) for modes in CUTS}
    curves = {name: [kept[modes][name].numbers for modes in CUTS] for name in FORMATS}
    here = kept[setting.modes][setting.shown].numbers
    lines = {"whole": Line([*CUTS], [_WHOLE] * len(CUTS)), **{n: Line([*CUTS], curve) for n, curve in curves.items()}}
    return Lines(
        title="The same numbers, cut into more modes",
        origin="computed",
        label=f"here: {here:,} numbers by the {setting.shown} in {setting.modes} modes",
        lines=lines,
        x=axis("modes", CUTS, log=True, at=CUTS),
        y=axis("numbers", [value for curve in curves.values() for value in curve] + [_WHOLE], log=True),
        here=(setting.modes, here),
    )


class DecompositionExplorer(SteppedExplorer):
    """4,096 numbers as a tensor of 2 to 12 modes: what two thin matrices, Tucker and a tensor train keep of it, and
    store; or TT-SVD, cut by cut, which play shows.

    The two thin matrices are the SVD of the square that is shown, so they are the same for any number of modes.

    Args:
        own: a 64 × 64 matrix of your own, offered beside the others and chosen at first.

    Raises:
        ValueError: if your own is not of 64 × 64 finite numbers.
    """

    Setting = DecompositionSetting

    def __init__(self, *, own: torch.Tensor | None = None, **asked: Any) -> None:
        if not isinstance(own, torch.Tensor | None):
            raise TypeError(f"your own must be a tensor, got a {type(own).__name__}")
        if own is not None and (tuple(own.shape) != (SIDE, SIDE) or not torch.isfinite(own.double()).all()):
            raise ValueError(f"your own must be {SIDE} × {SIDE} finite numbers, got shape {tuple(own.shape)}")
        if own is not None:
            asked["tensor"] = "own"
        super().__init__(own=own, **asked)

    @staticmethod
    def pictures(setting: DecompositionSetting) -> list[str | Table | Matrix | Bars | Lines | Sketch]:
        """All that is shown of a setting."""
        tensor = tensor_of(setting.tensor, setting.modes, setting.own)
        if setting.shown == CUTTING:
            by_error = setting.limit == "error"
            error, rank = setting.relative_error if by_error else None, None if by_error else setting.rank
            return [*cutting_pictures(tensor, error, rank, setting.step)]
        kept = _kept(setting)
        whole = picture_of(setting.tensor, tensor)
        shown = kept[setting.shown]
        return [
            describe_decomposition(setting),
            _facts(setting, kept),
            _original(setting.tensor, setting.modes, setting.own),
            _square(_titles(setting.shown), setting.tensor, shown.square, whole, f"{shown.error:.2%} off"),
            _numbers(kept),
            _by_modes(setting),
        ]

    def prepare(self) -> None:
        """Only one of the two limits counts; the other is disabled."""
        by_error = self.controls["limit"].value == "error"
        disable(self.controls["relative_error"], not by_error, "the limit is a rank")
        disable(self.controls["rank"], by_error, "the limit is an error")
        super().prepare()

    def steps(self, setting: DecompositionSetting) -> int:
        """A cut between every two modes."""
        return setting.modes - 1

    def before_playing(self, setting: DecompositionSetting) -> dict[str, Any]:
        """Show the cuts."""
        return {} if setting.shown == CUTTING else {"shown": CUTTING}
