"""How large the batch may be: the gradient noise scale, and the learning rate for a batch k times as large.

One example's gradient is the mean gradient G plus noise of covariance Σ. A batch of B has the same G and noise Σ/B:
while tr(Σ)/B is larger than |G|² the noise leads the step, afterwards G does. The batch at which both are equal is the
simple noise scale, B_simple = tr(Σ)/|G|². It tells about where the critical batch size lies: far below that, ranks that
are added save nearly as much time as they cost, far above it they save none. (The noise scale proper, B_noise =
tr(HΣ)/GᵀHG, weighs every direction by the loss's curvature H; where H is a multiple of the identity both are equal.)

The learning rate is a pure function of the epoch:

rate                     ┌──────── scaled rate
       gradual  ／───────┘
base  ──────────          ▔▔▔▔▔ ×0.1 at each decay

Source: McCandlish, Kaplan, Amodei et al., "An empirical model of large-batch training", arXiv 1812.06162, 2018,
section 2.2.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.nn import functional

from course_lib.checks import positive


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


SCALINGS = ("linear", "sqrt", "none")
WARM_UPS = ("gradual", "constant", "none")


def updates_per_epoch(examples: int, batch_per_device: int, devices: int) -> int:
    """How often the weights change in one epoch when every device takes its own batch; the last may be smaller.

    `batch_size = 32 * num_devices` makes an epoch shorter, and the weights change as much less often.

    >>> [updates_per_epoch(1437, 32, devices) for devices in (1, 2, 8, 45)]
    [45, 23, 6, 1]
    """
    return math.ceil(examples / (batch_per_device * devices))


def scaled_rate(base_rate: float, times: float, scaling: str = "linear") -> float:
    """The rate for a batch `times` as large as the one for which `base_rate` is right.

    "linear": k small steps go about as far as one that is k times as long, while the gradient changes little on the
    way. "sqrt": the noise that a step adds keeps its size. "none": the base rate.

    Raises:
        ValueError: if `scaling` is another word.

    Source: Goyal et al., arXiv 1706.02677, 2017, section 2.1 (linear); Krizhevsky, arXiv 1404.5997, 2014 (√k).

    >>> [scaled_rate(0.1, 16, scaling) for scaling in SCALINGS]
    [1.6, 0.4, 0.1]
    """
    if scaling not in SCALINGS:
        raise ValueError(f"scaling must be one of {SCALINGS}, got {scaling!r}")
    return base_rate * {"linear": times, "sqrt": math.sqrt(times), "none": 1}[scaling]


@dataclass(frozen=True)
class RateSchedule:
    """A learning rate that warms up, stays, and decays in steps.

    Args:
        base_rate: right for the small batch.
        times: k, how many times as large the batch is.
        warm_up: "gradual" rises from the base rate to the scaled one, "constant" keeps the base rate until the
            warm-up ends, "none" has the scaled rate from the first step.
        decay_epochs: at each of these the rate falls to a tenth.

    Raises:
        ValueError: if `scaling` or `warm_up` is a word of which nothing is known.

    Source: Goyal et al., arXiv 1706.02677, 2017, section 2.2.

    >>> schedule = RateSchedule(0.1, times=8, warm_up_epochs=2, decay_epochs=(6,))
    >>> [round(schedule.rate(epoch), 3) for epoch in (0, 1, 2, 5.9, 6)]
    [0.1, 0.45, 0.8, 0.8, 0.08]
    """

    base_rate: float
    times: float = 1
    scaling: str = "linear"
    warm_up: str = "gradual"
    warm_up_epochs: float = 0
    decay_epochs: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        positive(base_rate=self.base_rate, times=self.times)
        scaled_rate(self.base_rate, self.times, self.scaling)
        if self.warm_up not in WARM_UPS:
            raise ValueError(f"warm_up must be one of {WARM_UPS}, got {self.warm_up!r}")

    def rate(self, epoch: float) -> float:
        """The rate when `epoch` epochs have passed; halves count."""
        scaled = scaled_rate(self.base_rate, self.times, self.scaling)
        if self.warm_up != "none" and epoch < self.warm_up_epochs:
            part = epoch / self.warm_up_epochs if self.warm_up == "gradual" else 0
            return self.base_rate + part * (scaled - self.base_rate)
        return scaled * 0.1 ** sum(epoch >= decay for decay in self.decay_epochs)
