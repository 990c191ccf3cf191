"""Tensors to decompose that are not random: a function on a grid, a photograph, a layer that was trained."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.metadata import distribution

import numpy as np
import torch
from PIL import Image
from torch.nn import functional

from course_lib.tasks import digit_batches, digits_model


def function_on_grid(function: Callable[[torch.Tensor], torch.Tensor], shape: Sequence[int]) -> torch.Tensor:
    """A function of x_1 + … + x_d at all points of a grid over [0, 1]^d, with shape[k] points in direction k.

    sin of a sum has rank 2 in every unfolding, for sin(a + b) = sin a · cos b + cos a · sin b.

    >>> function_on_grid(torch.sin, [4] * 6).shape
    torch.Size([4, 4, 4, 4, 4, 4])
    """
    total = torch.zeros([1] * len(shape), dtype=torch.float64)
    for mode, points in enumerate(shape):
        x = torch.linspace(0, 1, points, dtype=torch.float64)
        total = total + x.reshape([points if k == mode else 1 for k in range(len(shape))])
    return function(total)


def load_photo(size: int = 256, name: str = "flower.jpg") -> torch.Tensor:
    """A photograph that scikit-learn brings along, in gray between 0 and 1: [size, size] of float64.

    Raises:
        ValueError: unless `size` divides 256.

    >>> load_photo(64).shape
    torch.Size([64, 64])
    """
    if size < 1 or 256 % size:
        raise ValueError(f"the size must divide 256, got {size}")
    file = distribution("scikit-learn").locate_file(f"sklearn/datasets/images/{name}")  # to import it takes a second
    gray = torch.from_numpy(np.array(Image.open(str(file)))).double().mean(2)[100:356, 150:406] / 255
    return gray.reshape(size, 256 // size, size, 256 // size).mean((1, 3))


def train_digits_weight(steps: int = 100, seed: int = 0) -> torch.Tensor:
    """The weight of a layer from 64 pixels to 64 neurons, after training on the digits: [64, 64] of float64."""
    model = digits_model(seed, hidden=64)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _, (inputs, labels) in zip(range(steps), digit_batches(128, seed=seed), strict=False):
        optimizer.zero_grad()
        functional.cross_entropy(model(inputs), labels).backward()
        optimizer.step()
    return model[0].weight.detach().double()
