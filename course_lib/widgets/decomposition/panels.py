"""The pictures of the decomposition explorer: the tensor, what is kept of it, and the numbers that it takes."""

from __future__ import annotations

import functools

import torch

from course_lib.draw.panels import Bars, Cell, Line, Lines, Matrix, Sketch, Table, axis
from course_lib.widgets.decomposition.cuts import cutting_pictures
from course_lib.widgets.decomposition.model import (
    CUTS,
    CUTTING,
    FORMATS,
    SIDE,
    DecompositionSetting,
    Kept,
    kept_of,
    on_one_thread,
    picture_of,
    tensor_of,
)

__all__ = ["describe_decomposition", "pictures"]

_WHOLE = SIDE * SIDE
_GRAYS = [f"#{17 * level:02x}{17 * level:02x}{17 * level:02x}" for level in range(16)]


@on_one_thread()
def pictures(setting: DecompositionSetting) -> list[str | Table | Matrix | Bars | Lines | Sketch]:
    """All that is shown of a setting."""
    if setting.shown == CUTTING:
        return [*cutting_pictures(setting._replace(step=0), setting.step)]
    kept = _kept(setting)
    whole = picture_of(setting.tensor, tensor_of(setting.tensor, setting.modes, setting.own))
    shown = kept[setting.shown]
    return [
        describe_decomposition(setting),
        _facts(setting, kept),
        _original(setting.tensor, setting.modes, setting.own),
        _square(_titles(setting.shown), setting.tensor, shown.square, whole, f"{shown.error:.2%} off"),
        _numbers(kept),
        _by_modes(setting),
    ]


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
    return kept_of(setting._replace(shown="", step=0))


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
    kept = {modes: _kept(setting._replace(modes=modes)) for modes in CUTS}
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
