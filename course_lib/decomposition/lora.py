"""LoRA: a trained weight stays as it is, and two thin matrices beside it learn what changes.

    ┌─▶ W, frozen ───────────────▶ + ─▶ y        W + B A has the size of W, B A is of rank r:
x ──┤                              ▲             r (inputs + outputs) numbers learn,
    └─▶ A [r, inputs] ─▶ B [outputs, r] ┘        and B begins at 0, so the first step changes nothing
"""

from __future__ import annotations

import torch
from torch import nn

from course_lib.decomposition.four_bits import FourBitLinear

__all__ = ["LoRALinear"]


class LoRALinear(nn.Module):
    """A linear layer whose weight is frozen, with two thin matrices beside it that learn.

    Only the thin matrices have gradients: only they cross the wire, and only they have an optimizer's state. Beside a
    `FourBitLinear` this is QLoRA.

    Source: E. J. Hu et al., "LoRA: low-rank adaptation of large language models", arXiv 2106.09685. Its factor
    alpha / r is 1 here.

    >>> layer = LoRALinear(nn.Linear(6, 4), rank=2)
    >>> [tuple(p.shape) for p in layer.parameters() if p.requires_grad]
    [(2, 6), (4, 2)]
    """

    def __init__(self, dense: nn.Linear | FourBitLinear, rank: int) -> None:
        """Freeze a layer and put the matrices beside it; the layer is not copied.

        Raises:
            ValueError: unless rank is from 1 to the shorter side of the weight.
        """
        super().__init__()
        outputs, inputs = dense.weight.shape
        if not 1 <= rank <= min(outputs, inputs):
            raise ValueError(f"rank must be from 1 to {min(outputs, inputs)}, got {rank}")
        self.dense = dense.requires_grad_(False)
        self.a = nn.Parameter(torch.empty(rank, inputs).uniform_(-1, 1).to(dense.weight) / inputs**0.5)
        self.b = nn.Parameter(torch.zeros(outputs, rank).to(dense.weight))

    def forward(self, x: torch.Tensor) -> torch.Tensor:  # [..., inputs] -> [..., outputs]
        return self.dense(x) + x @ self.a.T @ self.b.T

    @torch.no_grad()
    def merged(self) -> nn.Linear:
        """One layer that gives the same: after training, the thin matrices cost nothing."""
        layer = nn.Linear(self.dense.in_features, self.dense.out_features, bias=self.dense.bias is not None)
        layer = layer.to(self.dense.weight)
        layer.weight.copy_(self.dense.weight + self.b @ self.a)
        if self.dense.bias is not None:
            layer.bias.copy_(self.dense.bias)
        return layer
