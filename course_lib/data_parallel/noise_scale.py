"""Gradient noise: how large a batch can be before more examples are wasted on a gradient that is already clear.

One example's gradient is the mean gradient G plus noise of covariance Σ. A batch of B has the same G and noise Σ/B:
while tr(Σ)/B is larger than |G|² the noise leads the step, afterwards G does. The batch at which both are equal is the
simple noise scale, B_simple = tr(Σ)/|G|². It tells about where the critical batch size lies: far below that, ranks that
are added save nearly as much time as they cost, far above it they save none. (The noise scale proper, B_noise =
tr(HΣ)/GᵀHG, weighs every direction by the loss's curvature H; where H is a multiple of the identity both are equal.)

Source: McCandlish, Kaplan, Amodei et al., "An empirical model of large-batch training", arXiv 1812.06162, 2018,
section 2.2.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.nn import functional

__all__ = ["GradientNoise", "example_gradients", "gradient_noise"]


class GradientNoise(NamedTuple):
    """What is known of a gradient at one point of training.

    Attributes:
        signal: |G|², the squared length of the mean gradient.
        noise: tr(Σ), the squared distance at which one example's gradient lies from it, on average.
    """

    signal: float
    noise: float

    @property
    def scale(self) -> float:
        """B_simple, in examples: the batch in which noise and signal are equal. Infinite where no signal was seen."""
        return self.noise / self.signal if self.signal > 0 else float("inf")


def example_gradients(
    model: nn.Module,
    inputs: torch.Tensor,
    labels: torch.Tensor,
    loss: Callable[[torch.Tensor, torch.Tensor], torch.Tensor] = functional.cross_entropy,
) -> torch.Tensor:
    """Every example's own gradient: [examples, parameters]. Not for models that mix examples (batch normalization)."""
    trained = {name: p.detach() for name, p in model.named_parameters() if p.requires_grad}

    def one_loss(parameters: dict[Any, Any], example: torch.Tensor, label: torch.Tensor) -> torch.Tensor:
        return loss(torch.func.functional_call(model, parameters, (example[None],)), label[None])

    found = torch.func.vmap(torch.func.grad(one_loss), in_dims=(None, 0, 0))(trained, inputs, labels)
    return torch.cat([gradient.flatten(1) for gradient in found.values()], dim=1)


def gradient_noise(gradients: torch.Tensor) -> GradientNoise:
    """Signal and noise from the gradients of single examples: [examples, parameters].

    Both are free of bias: the squared mean of n gradients is too long by tr(Σ)/n, and that is taken off. Where the
    noise is large the signal can come out negative: then there are too few examples to see it. The noise never does:
    it adds up squared distances from the mean, one example after the other, in double precision.

    Raises:
        ValueError: if there are fewer than two examples.

    >>> gradient_noise(torch.tensor([[3.0, 1.0], [3.0, -1.0]]))
    GradientNoise(signal=8.0, noise=2.0)
    """
    count = len(gradients)
    if count < 2:
        raise ValueError(f"noise needs the gradients of at least two examples, got {count}")
    mean = torch.zeros_like(gradients[0], dtype=torch.float64, requires_grad=False)
    for gradient in gradients.detach():
        mean += gradient
    mean /= count
    noise = sum((gradient - mean).square().sum().item() for gradient in gradients.detach()) / (count - 1)
    return GradientNoise(mean.square().sum().item() - noise / count, noise)
