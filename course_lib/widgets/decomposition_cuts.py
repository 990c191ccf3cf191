"""TT-SVD, played: each step cuts a core off what is left, and what it leaves out adds up, in squares, to the error."""

from __future__ import annotations

import functools
from math import prod
from typing import NamedTuple

import torch

from course_lib.decomposition import tt_svd
from course_lib.draw.colors import COLORS
from course_lib.draw.panels import Line, Lines, Sketch, Table, axis
from course_lib.draw.panels.drawing import QUIET, Boxes, Key, Shape, Text, text_width_px

_CORE, _HIGH = COLORS["blue"], 120.0


class Cut(NamedTuple):
    """Where TT-SVD stands after some steps.

    Attributes:
        cores: the sizes of those that are cut off, each r, n, r'.
        rest: rows and columns of what is left: the last rank, and all modes to come.
        error: how far all that is kept is from the tensor, as a share of its norm.
        bound: how far it may be; None where only ranks are limited.
    """

    cores: list[tuple[int, ...]]
    rest: tuple[int, int]
    error: float
    bound: float | None

    @property
    def numbers(self) -> int:
        """Stored so far, with what is left."""
        return sum(map(prod, [*self.cores, self.rest]))


@functools.lru_cache(maxsize=64)
def cuts_of(tensor: torch.Tensor, relative_error: float | None, rank: int | None) -> list[Cut]:
    """The tensor before any cut, and after each; one of the two limits is None."""
    tensor = tensor / tensor.abs().max().clamp(min=1e-300)
    train = tt_svd(tensor, relative_error or 0.0, rank)
    cuts: list[Cut] = []
    rest = tensor.reshape(1, -1)
    whole = float(tensor.norm())
    for step, core in enumerate(train.cores):
        bound = None if relative_error is None else relative_error * (step / (tensor.ndim - 1)) ** 0.5
        kept = float(rest.norm()) / whole if step and whole else 1.0  # the cores are orthonormal
        sizes = [tuple(each.shape) for each in train.cores[:step]]
        cuts.append(Cut(sizes, (rest.shape[0], rest.shape[1]), max(1 - kept * kept, 0.0) ** 0.5, bound))
        rest = core.flatten(0, 1).T @ rest.reshape(core.shape[0] * core.shape[1], -1)
    return cuts


def cutting_pictures(
    tensor: torch.Tensor, relative_error: float | None, rank: int | None, step: int
) -> list[str | Table | Sketch | Lines]:
    """All that is shown while cores are cut off."""
    cuts = cuts_of(tensor, relative_error, rank)
    return [describe_cut(cuts, step), _facts(cuts[step], prod(cuts[0].rest)), _train(cuts, step), _errors(cuts, step)]


def describe_cut(cuts: list[Cut], step: int) -> str:
    """The step in words."""
    cut, head = cuts[step], f"Step {step} of {len(cuts) - 1}: "
    if not step:
        return head + f"nothing is cut off, and {prod(cut.rest):,} numbers are left."
    (before, mode, rank), within = cut.cores[-1], "" if cut.bound is None else f", at most {cut.bound:.2%}"
    rows, columns = before * mode, cut.rest[1]
    kept = f"of a matrix of {rows} × {columns:,} it keeps {rank} of {min(rows, columns)} singular values"
    return head + f"{kept}. {cut.error:.2%} off so far{within}; {cut.numbers:,} numbers."


def _facts(cut: Cut, whole: int) -> Table:
    left = f"{cut.rest[0]:,} × {cut.rest[1]:,}"
    facts = {"left": left, "numbers": f"{cut.numbers:,} of {whole:,}", "error so far": f"{cut.error:.2%}"}
    return Table(facts, "computed")


def _train(cuts: list[Cut], step: int) -> Sketch:
    """The cores and what is left, each a square whose area is its numbers."""
    parts = [*cuts[step].cores, cuts[step].rest]
    share, shapes = 1 / len(cuts), list[Shape]()
    most = max(prod(part) for cut in cuts for part in [*cut.cores, cut.rest])
    for place, part in enumerate(parts):
        side = (prod(part) / most) ** 0.5
        box = ((place + 0.5 - 0.45 * side) * share, _HIGH * (1 - side), 0.9 * side * share, _HIGH * side)
        shapes.append(Boxes([box], QUIET if place == step < len(cuts) - 1 else _CORE))
        for row, text in enumerate((f"{prod(part):,}", "×".join(map(str, part)))):
            room = (text_width_px(text) + 4) / share
            shapes.append(Text((place + 0.5) * share, _HIGH + 10 + 15 * row, text, from_px=room))
    return Sketch(
        title="The train so far, areas by numbers",
        origin="computed",
        label=describe_cut(cuts, step),
        wide=True,
        shapes=shapes,
        height_px=_HIGH + 34,
        keys=[Key("core", _CORE), Key("left", QUIET)],
    )


def _errors(cuts: list[Cut], step: int) -> Lines:
    steps = [*range(len(cuts))]
    lines = {"error": Line(steps, [cut.error for cut in cuts], _CORE)}
    if bounds := [cut.bound for cut in cuts if cut.bound is not None]:
        lines["at most"] = Line(steps, bounds, COLORS["vermillion"], (4, 3))
    return Lines(
        title="What is left out, added up",
        origin="computed",
        label=f"{cuts[step].error:.2%} off after {step} of {len(cuts) - 1}",
        lines=lines,
        x=axis("cut", steps, at=steps),
        y=axis("error", [value for line in lines.values() for value in line.y], "%"),
        here=(step, cuts[step].error),
    )
