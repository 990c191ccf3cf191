"""Experiments of chapter 09: a trained network of which one layer is compressed, and trained on for a while."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import NamedTuple

import torch
from torch import nn
from torch.nn import functional

from course_lib.decomposition.svd import truncated_svd
from course_lib.tasks import accuracy, digit_batches, load_digits

INPUT_MODES, OUTPUT_MODES = (4, 8, 8), (5, 6, 8)  # of the layer from 256 to 240 neurons


class Compressed(NamedTuple):
    """What became of the layer: numbers of its weight, and the test accuracy before and after it was trained on."""

    numbers: float
    relative_error: float  # of the weight, as converted
    converted: float
    tuned: float


def wide_digits_model(steps: int = 300, seed: int = 0) -> nn.Sequential:
    """A trained classifier of the digits, 64 → 256 → 240 → 10; 61,440 of its 80,730 numbers are in the middle."""
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)  # the processor's: an accelerator's numbers go on
        middle = nn.Linear(256, 240)
        model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), middle, nn.ReLU(), nn.Linear(240, 10))
    _train(model, model, steps, seed, rate=1e-3)
    return model


def svd_linear(dense: nn.Linear, rank: int) -> nn.Sequential:
    """The layer as two thinner ones, [rank, inputs] and [outputs, rank]: the nearest of that rank."""
    svd = truncated_svd(dense.weight.detach(), largest_rank=rank)
    thin = nn.Sequential(nn.Linear(dense.in_features, rank, bias=False), nn.Linear(rank, dense.out_features))
    for parameter, value in zip(thin.parameters(), (svd.vh, svd.u * svd.s, dense.bias.detach()), strict=True):
        parameter.data = value.clone()
    return thin


@torch.no_grad()
def weight_of(layer: nn.Module, inputs: int) -> torch.Tensor:  # [outputs, inputs]
    """The weight of any layer that multiplies by one and adds a bias: what it makes of the unit vectors."""
    return (layer(torch.eye(inputs)) - layer(torch.zeros(1, inputs))).T


def replace_and_tune(
    model: nn.Sequential, layer: nn.Module, rate: float = 5e-3, steps: int = 150, seed: int = 100
) -> Compressed:
    """Put a layer in the place of the middle one and train it alone, the others frozen; `model` stays as it is."""
    dense = model[2].weight.detach()
    changed = deepcopy(model).requires_grad_(False)
    changed[2] = deepcopy(layer)
    error = float((weight_of(layer, 256) - dense).norm() / dense.norm())
    digits = load_digits()
    converted = accuracy(changed, digits.test_inputs, digits.test_labels)
    _train(changed, changed[2], steps, seed, rate)
    tuned = accuracy(changed, digits.test_inputs, digits.test_labels)
    return Compressed(sum(p.numel() for p in layer.parameters() if p.requires_grad) - 240, error, converted, tuned)


def try_form(
    models: Sequence[nn.Sequential],
    make: Callable[[nn.Linear, int], nn.Module],
    rank: int,
    rates: Sequence[float] = (5e-3, 5e-2),
    steps: int = 150,
    seed: int = 0,
) -> Compressed:
    """What a form of the middle layer comes to: the mean over the models, at that rate of which this mean is best.

    Args:
        make: the trained layer of a model and the rank -> the layer in its place.
        rates: of Adam; the accuracy on test images chooses between them.
        seed: of what `make` draws for the first model; the next has the next.
    """
    layers = []
    for number, model in enumerate(models):
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(seed + number)
            layers.append(make(model[2], rank))
    means = []
    for rate in rates:
        rows = [replace_and_tune(model, layer, rate, steps) for model, layer in zip(models, layers, strict=True)]
        means.append(Compressed(*(sum(column) / len(rows) for column in zip(*rows, strict=True))))
    return max(means, key=lambda row: row.tuned)


def _train(model: nn.Module, part: nn.Module, steps: int, seed: int, rate: float) -> None:
    """Steps of Adam with the whole model's loss, on the parameters of one part of it."""
    optimizer = torch.optim.Adam([p for p in part.parameters() if p.requires_grad], lr=rate)
    for _, (inputs, labels) in zip(range(steps), digit_batches(64, seed=seed), strict=False):
        loss = functional.cross_entropy(model(inputs), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
