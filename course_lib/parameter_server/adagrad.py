"""Adagrad: a rate for each parameter, made from its own gradients alone, so that every shard can work by itself."""

from __future__ import annotations

from dataclasses import dataclass

import torch

__all__ = ["Adagrad"]


@dataclass
class Adagrad:
    """A step down the gradient at a rate of each parameter's own: rate / root of the sum of its squared gradients.

    It keeps that sum, so every shard needs one of its own, and needs nothing from the other shards.

    Source: J. Duchi, E. Hazan and Y. Singer, "Adaptive subgradient methods", JMLR 12, 2011.

    >>> step = Adagrad(rate=1.0)
    >>> step(torch.zeros(2), torch.tensor([3.0, 0.5])).tolist()
    [-1.0, -1.0]
    """

    rate: float
    squares: torch.Tensor | None = None
    epsilon: float = 1e-10  # keeps a parameter that never had a gradient from 0 / 0

    def __call__(self, parameters: torch.Tensor, gradient: torch.Tensor) -> torch.Tensor:
        squares = torch.zeros_like(gradient) if self.squares is None else self.squares
        self.squares = torch.addcmul(squares, gradient, gradient)
        return torch.addcdiv(parameters, gradient, self.squares.sqrt() + self.epsilon, value=-self.rate)
