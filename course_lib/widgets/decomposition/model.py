"""What the decomposition explorer computes: 4,096 numbers as a tensor of 2 to 12 modes, and what three formats keep."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from typing import NamedTuple

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

__all__ = [
    "CUTS",
    "CUTTING",
    "FORMATS",
    "LAYER",
    "SIDE",
    "TENSORS",
    "DecompositionSetting",
    "Kept",
    "kept_of",
    "on_one_thread",
    "picture_of",
    "tensor_of",
]

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


class DecompositionSetting(NamedTuple):
    """All that the controls say. `limit` is "error" or "rank", and only that of the two counts; `step`: of CUTTING."""

    tensor: str
    modes: int
    limit: str
    relative_error: float
    rank: int
    shown: str
    own: torch.Tensor | None = None
    step: int = 0


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
