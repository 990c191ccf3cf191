"""What is trained: digits told apart, digits drawn again, and the next character of a text."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import NamedTuple

import torch
from torch import nn
from torch.nn import functional

from course_lib.tasks import (
    LanguageLSTM,
    LSTMConfig,
    digit_batches,
    digits_model,
    next_token_loss,
    source_tokens,
    text_batches,
)


class Problem(NamedTuple):
    """A model, its batches, its loss and its optimizer; seeds choose the first weights and the batches."""

    model: Callable[[int], nn.Module]
    batches: Callable[[int], Iterator[tuple[torch.Tensor, torch.Tensor]]]
    loss: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
    optimizer: Callable[[list[torch.Tensor]], torch.optim.Optimizer]


def sigmoid_autoencoder(seed: int = 0, layers: int = 6, width: int = 32) -> nn.Sequential:
    """A network that draws the digit again that it was shown; a sigmoid after each layer but the last.

    Its gradients are small for two plain reasons. The loss is a mean over all pixels of a batch, and each sigmoid
    multiplies what passes through it by 1/4 at most.
    """
    sizes = [64, *[width] * (layers - 1), 64]
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)  # the processor's: an accelerator's numbers go on
        parts = [(nn.Linear(*pair), nn.Sigmoid()) for pair in itertools.pairwise(sizes)]
    return nn.Sequential(*[part for pair in parts for part in pair][:-1])


def _same_digits(seed: int) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    return ((inputs, inputs) for inputs, _ in digit_batches(512, seed=seed))


AUTOENCODER = Problem(
    sigmoid_autoencoder,
    _same_digits,
    functional.mse_loss,
    lambda parameters: torch.optim.Adam(parameters, lr=5e-3, fused=True),
)


def digits_classifier(rate: float = 0.1, batch_size: int = 64) -> Problem:
    """The course's network of one hidden layer, with plain gradient descent."""
    return Problem(
        digits_model,
        lambda seed: digit_batches(batch_size, seed=seed),
        functional.cross_entropy,
        lambda parameters: torch.optim.SGD(parameters, lr=rate),
    )


TEXT = Problem(
    lambda seed: LanguageLSTM(LSTMConfig(layers=1, cells=64), seed),
    lambda seed: text_batches(source_tokens(), 16, 24, seed=seed),
    next_token_loss,
    lambda parameters: torch.optim.Adam(parameters, lr=1e-2, fused=True),
)
