"""Gradient noise: how large a batch can be before more examples are wasted on a gradient that is already clear.

One example's gradient is the mean gradient G plus noise of covariance Σ. A batch of B has the same G and noise Σ/B:
while tr(Σ)/B is larger than |G|² the noise leads the step, afterwards G does. The batch at which both are equal,
B_noise = tr(Σ)/|G|², is the golden mean: far below it ranks that are added save nearly as much time as they cost, far
above it they save none.

Source: McCandlish, Kaplan, Amodei et al., "An empirical model of large-batch training", arXiv 1812.06162, 2018.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import nn
from torch.nn import functional

from course_lib.collectives import ring_all_reduce
from course_lib.comm import Communicator
from course_lib.data_parallel.averaging import trained_parameters

__all__ = [
    "GradientNoise",
    "example_gradients",
    "gradient_noise",
    "gradient_noise_of_ranks",
    "gradient_noise_of_two_batches",
    "updates_needed",
]


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
        """B_noise, in examples: the batch in which noise and signal are equal. Infinite where no signal was seen."""
        return self.noise / self.signal if self.signal > 0 else float("inf")


def example_gradients(
    model: nn.Module,
    inputs: torch.Tensor,
    labels: torch.Tensor,
    loss: Callable[[torch.Tensor, torch.Tensor], torch.Tensor] = functional.cross_entropy,
) -> torch.Tensor:
    """Every example's own gradient: [examples, parameters]. Not for models that mix examples (batch normalization)."""
    trained = {name: p.detach() for name, p in model.named_parameters() if p.requires_grad}

    def one_loss(parameters: dict, example: torch.Tensor, label: torch.Tensor) -> torch.Tensor:
        return loss(torch.func.functional_call(model, parameters, (example[None],)), label[None])

    found = torch.func.vmap(torch.func.grad(one_loss), in_dims=(None, 0, 0))(trained, inputs, labels)
    return torch.cat([gradient.flatten(1) for gradient in found.values()], dim=1)


def gradient_noise(gradients: torch.Tensor) -> GradientNoise:
    """Signal and noise from the gradients of single examples: [examples, parameters].

    Both are free of bias: the squared mean of n gradients is too long by tr(Σ)/n, and that is taken off. Where the
    noise is large the signal can come out negative: then there are too few examples to see it.

    Raises:
        ValueError: if there are fewer than two examples.

    >>> gradient_noise(torch.tensor([[3.0, 1.0], [3.0, -1.0]]))
    GradientNoise(signal=8.0, noise=2.0)
    """
    count = len(gradients)
    if count < 2:
        raise ValueError(f"noise needs the gradients of at least two examples, got {count}")
    gradients = gradients.double()
    noise = gradients.var(0).sum().item()
    return GradientNoise(gradients.mean(0).square().sum().item() - noise / count, noise)


def gradient_noise_of_two_batches(
    small_squared: float, small_batch: float, large_squared: float, large_batch: float
) -> GradientNoise:
    """Signal and noise from the mean squared lengths of the gradients of batches of two sizes, free of bias.

    |G_B|² is |G|² + tr(Σ)/B on average: two sizes, two equations.

    Raises:
        ValueError: unless `large_batch` is larger than `small_batch`.

    Source: McCandlish et al., arXiv 1812.06162, 2018, appendix A.1.

    >>> gradient_noise_of_two_batches(small_squared=8 + 2 / 1, small_batch=1, large_squared=8 + 2 / 4, large_batch=4)
    GradientNoise(signal=8.0, noise=2.0)
    """
    if large_batch <= small_batch:
        raise ValueError(f"large_batch must be larger than small_batch={small_batch}, got {large_batch}")
    noise = (small_squared - large_squared) / (1 / small_batch - 1 / large_batch)
    signal = (large_batch * large_squared - small_batch * small_squared) / (large_batch - small_batch)
    return GradientNoise(signal, noise)


def gradient_noise_of_ranks(comm: Communicator, local: torch.Tensor, module: nn.Module, examples: int) -> GradientNoise:
    """Signal and noise for nothing: data-parallel training has gradients of two batch sizes in every step.

    The ranks' own gradients are those of the small batch, the average that all of them share is that of the large one.
    One step says little: average `signal` and `noise` over many before you divide.

    Args:
        local: this rank's gradient before averaging, in one row; the averaged one is in `module`.
        examples: how many examples each rank's gradient is the mean of; equally many on all.

    Raises:
        ValueError: if there is one rank only.

    Cost: one all-reduce of one number.
    """
    if comm.world_size < 2:
        raise ValueError("two batch sizes need at least two ranks, got 1")
    small_squared = local.double().square().sum().view(1)
    ring_all_reduce(comm, small_squared, op="mean")
    grads = [parameter.grad for parameter in trained_parameters(module) if parameter.grad is not None]
    large_squared = sum(grad.double().square().sum().item() for grad in grads)
    return gradient_noise_of_two_batches(small_squared.item(), examples, large_squared, examples * comm.world_size)


def updates_needed(batch_size: float, noise_scale: float, fewest_updates: float) -> float:
    """Updates that reach a goal with batches of this size: fewest × (1 + B_noise/B), the fewest with endless batches.

    Source: McCandlish et al., arXiv 1812.06162, 2018, section 2.3.

    >>> [updates_needed(batch, noise_scale=100, fewest_updates=50) for batch in (1, 100, 10_000)]
    [5050.0, 100.0, 50.5]
    """
    return fewest_updates * (1 + noise_scale / batch_size)
