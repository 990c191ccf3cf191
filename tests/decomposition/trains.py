"""Tensors and trains that are drawn, for the tests of decompositions."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from course_lib.decomposition import TensorTrain


def drawn(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def whole(*shape: int, seed: int = 0) -> torch.Tensor:
    """Whole numbers as floats, so that sums and products are exact in any order."""
    return torch.randint(-3, 4, shape, generator=torch.Generator().manual_seed(seed)).double()


def train(shape: Sequence[int], ranks: int | Sequence[int], seed: int = 0, make=drawn) -> TensorTrain:
    """A train of these modes; its ranks between the cores are `ranks`, or all that one."""
    between = [ranks] * (len(shape) - 1) if isinstance(ranks, int) else list(ranks)
    ends = [1, *between, 1]
    return TensorTrain(tuple(make(ends[k], n, ends[k + 1], seed=seed + k) for k, n in enumerate(shape)))
