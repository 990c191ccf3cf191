"""What a format does to a set of numbers: which of them become 0, and how a scale moves them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import nn

from course_lib.precision.formats import FloatFormat

__all__ = ["Fates", "activation_gradients", "exponent_counts", "fates"]


class Fates(NamedTuple):
    """Shares of a set of numbers, which add up to 1, by what the format makes of them."""

    zero: float  # zero from the start
    lost: float  # too small: rounded to 0
    subnormal: float  # kept, with fewer bits
    normal: float
    overflow: float  # too large, or no number from the start


def fates(values: torch.Tensor, number_format: FloatFormat, scale: float = 1.0) -> Fates:
    """What becomes of the values, multiplied by `scale`, in the format.

    Raises:
        ValueError: if there is no value.

    >>> from course_lib.precision import FP16
    >>> fates(torch.tensor([0, 1e-9, 1e-6, 1e5]), FP16)
    Fates(zero=0.25, lost=0.25, subnormal=0.25, normal=0.0, overflow=0.25)
    >>> fates(torch.tensor([0, 1e-9, 1e-6, 1e5]), FP16, scale=2**-4).overflow
    0.0
    """
    if not values.numel():
        raise ValueError("there must be a value to say what becomes of it, got an empty tensor")
    scaled = values.double().flatten() * scale
    magnitude = scaled.abs()
    rounded = number_format.round(scaled).abs()
    zero, lost = magnitude == 0, (rounded == 0) & (magnitude > 0)
    overflow = ~(magnitude < number_format.largest + number_format.spacing(number_format.largest).item() / 2)
    subnormal = (rounded > 0) & (rounded < number_format.smallest_normal)
    normal = ~(zero | lost | subnormal | overflow)
    return Fates(*(kind.double().mean().item() for kind in (zero, lost, subnormal, normal, overflow)))


def exponent_counts(values: torch.Tensor) -> dict[int, int]:
    """How many values lie between 2^e and 2^(e+1), by e; zeros and what is no finite number are left out.

    >>> exponent_counts(torch.tensor([0.0, 1.0, -1.5, 2.0, 0.25]))
    {-2: 1, 0: 2, 1: 1}
    """
    counted = values.double()[values.isfinite() & (values != 0)]
    return dict(sorted(Counter((torch.frexp(counted).exponent - 1).tolist()).items()))


def activation_gradients(model: nn.Module, loss_of: Callable[[], torch.Tensor]) -> torch.Tensor:
    """The gradients of what every layer without layers of its own gives, in one row."""
    found: list[torch.Tensor] = []

    def watch(module: nn.Module, inputs: object, output: torch.Tensor) -> None:
        output.register_hook(lambda gradient: found.append(gradient.detach().flatten()))

    layers = [module for module in model.modules() if not list(module.children())]
    handles = [layer.register_forward_hook(watch) for layer in layers]
    try:
        loss_of().backward()
    finally:
        for handle in handles:
            handle.remove()
    model.zero_grad()
    return torch.cat(found)
