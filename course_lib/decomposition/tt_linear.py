"""A fully connected layer whose weight is a TT-matrix, in training too: the matrix itself is never formed."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import prod

import torch
from torch import nn

from course_lib.decomposition.tt_matrix import TTMatrix, tt_matrix_svd, tt_product


class TTLinear(nn.Module):
    """y = x Wᵀ + b with W [outputs, inputs] as a TT-matrix of the given ranks; x may have any number of batch sides.

    Cores are drawn so that W has the variance that nn.Linear's has: an entry of W sums ∏ r_k products of d numbers.

    Args:
        ranks: one number for all ranks between the cores, or the d - 1 of them.

    Source: A. Novikov et al., "Tensorizing Neural Networks", NeurIPS 2015, arXiv 1509.06569.

    >>> TTLinear((2, 7, 8, 8, 7, 4), (4, 4, 4, 4, 4, 4), ranks=2, bias=False)
    TTLinear(25088 → 4096, 528 + 0 numbers)
    """

    def __init__(
        self, input_modes: Sequence[int], output_modes: Sequence[int], ranks: int | Sequence[int], bias: bool = True
    ) -> None:
        super().__init__()
        if len(input_modes) != len(output_modes) or not input_modes:
            raise ValueError(
                f"inputs and outputs must have as many modes, 1 at least, got {input_modes} and {output_modes}"
            )
        between = [ranks] * (len(input_modes) - 1) if isinstance(ranks, int) else list(ranks)
        if min(*input_modes, *output_modes, *between, 1) < 1:
            raise ValueError(f"modes and ranks must be at least 1, got {input_modes}, {output_modes} and {between}")
        shapes = zip(pairwise([1, *between, 1]), output_modes, input_modes, strict=True)
        variance = 1 / (3 * prod(input_modes) * prod(between))
        deviation = variance ** (0.5 / len(input_modes))
        cores = [deviation * torch.randn(r, m, n, s) for (r, s), m, n in shapes]
        self.cores = nn.ParameterList(cores)
        self.bias = nn.Parameter(torch.zeros(prod(output_modes))) if bias else None
        self.matrix  # noqa: B018 - it checks the ranks

    @classmethod
    def from_linear(
        cls,
        linear: nn.Linear,
        input_modes: Sequence[int],
        output_modes: Sequence[int],
        relative_error: float = 0.0,
        largest_rank: int | None = None,
    ) -> TTLinear:
        """A layer that is trained, its weight within relative_error or of the largest rank, its bias as it is."""
        weight = linear.weight.detach()
        matrix = tt_matrix_svd(weight, output_modes, input_modes, relative_error, largest_rank)
        layer = cls(input_modes, output_modes, matrix.ranks[1:-1], bias=linear.bias is not None)
        layer.cores = nn.ParameterList(core.clone() for core in matrix.cores)
        if layer.bias is not None:
            layer.bias.data = linear.bias.detach().clone()
        return layer

    @property
    def matrix(self) -> TTMatrix:
        """The weight, [outputs, inputs]."""
        return TTMatrix(tuple(self.cores))

    def forward(self, x: torch.Tensor) -> torch.Tensor:  # [..., inputs] -> [..., outputs]
        inputs = prod(core.shape[2] for core in self.cores)
        if x.shape[-1:] != (inputs,):
            raise ValueError(f"inputs must be [..., {inputs}], got {list(x.shape)}")
        y = tt_product(self.cores, x.reshape(-1, inputs))
        return (y if self.bias is None else y + self.bias).reshape(*x.shape[:-1], y.shape[1])

    def __repr__(self) -> str:
        matrix, bias = self.matrix, 0 if self.bias is None else self.bias.numel()
        inputs, outputs = prod(matrix.column_modes), prod(matrix.row_modes)
        return f"TTLinear({inputs} → {outputs}, {matrix.numbers:,} + {bias:,} numbers)"
