"""What PipeDream knows of each layer: how long it takes, what it gives to the next one, how many weights it has."""

from __future__ import annotations

import time
from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

import torch
from torch import nn

from course_lib.model_parallel import ConvShape, LinearShape

__all__ = ["LayerProfile", "V100_FLOPS_PER_S", "measure_layers", "profile_shapes"]

# What a V100 makes of VGG-16 in single precision: about 57 % of the 15.7 TFLOP/s of its data sheet. Assumed.
V100_FLOPS_PER_S = 8.9e12


class LayerProfile(NamedTuple):
    """One layer and one batch.

    Attributes:
        seconds: forward and backward together, T_l of the paper.
        activation_bytes: what the next layer takes, a_l; as much comes back as its gradient.
        weight_bytes: the parameters, w_l.
    """

    name: str
    seconds: float
    activation_bytes: int
    weight_bytes: int


def profile_shapes(
    shapes: Sequence[LinearShape | ConvShape],
    batch_size: int,
    flops_per_s: float = V100_FLOPS_PER_S,
    element_bytes: int = 4,
) -> list[LayerProfile]:
    """A profile computed from shapes: backward takes twice as many operations as forward.

    What a layer gives is what the next one takes, so behind a pooling it is the pooled picture.

    >>> from course_lib.model_parallel import VGG16
    >>> round(sum(layer.seconds for layer in profile_shapes(VGG16, batch_size=64)), 3)
    0.667
    """
    given = [*(shape.input_elements for shape in shapes[1:]), shapes[-1].output_elements]
    return [
        LayerProfile(
            shape.name,
            3 * 2 * shape.multiply_adds * batch_size / flops_per_s,
            elements * batch_size * element_bytes,
            shape.parameters * element_bytes,
        )
        for shape, elements in zip(shapes, given, strict=True)
    ]


def measure_layers(model: nn.Sequential, inputs: torch.Tensor, repeats: int = 5) -> list[LayerProfile]:
    """A profile measured on this machine: the median of some passes through each layer alone, after one to warm up.

    The model's gradients stay as they are.
    """
    profile, x = [], inputs.detach()
    for number, layer in enumerate(model):
        seconds = [_pass_seconds(layer, x, number > 0) for _ in range(repeats + 1)][1:]
        with torch.no_grad():
            x = layer(x)
        weight_bytes = sum(parameter.nbytes for parameter in layer.parameters())
        profile.append(LayerProfile(f"{number} {type(layer).__name__}", median(seconds), x.nbytes, weight_bytes))
    return profile


def _pass_seconds(layer: nn.Module, inputs: torch.Tensor, needs_input_gradient: bool) -> float:
    """Forward and backward once, for the layer's weights and, unless it is the first, for its input."""
    x = inputs.clone().requires_grad_(needs_input_gradient)
    start_s = time.perf_counter()
    y = layer(x)
    wanted = [*layer.parameters(), *[x] * needs_input_gradient]
    if wanted:
        torch.autograd.grad(y, wanted, torch.ones_like(y), allow_unused=True)
    return time.perf_counter() - start_s
