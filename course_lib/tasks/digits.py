"""The digits: 1,797 handwritten images of 8 × 8 pixels, and a small network that classifies them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib.metadata import distribution
from typing import NamedTuple

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from course_lib.tasks.batches import random_batches


class Digits(NamedTuple):
    """Images as float32 rows of 64 pixels between 0 and 1, labels as int64 from 0 to 9."""

    train_inputs: torch.Tensor
    train_labels: torch.Tensor
    test_inputs: torch.Tensor
    test_labels: torch.Tensor


def load_digits(train_length: int = 1437, seed: int = 0) -> Digits:
    """The digits, shuffled with `seed` and split into a training and a test part.

    Raises:
        ValueError: unless both parts hold at least one image.

    Source: E. Alpaydin and C. Kaynak, "Optical recognition of handwritten digits", UCI, 1998; shipped in scikit-learn.

    >>> [tuple(part.shape) for part in load_digits()]
    [(1437, 64), (1437,), (360, 64), (360,)]
    """
    images, classes = _read()
    length = len(classes)
    if not 0 < train_length < length:
        raise ValueError(f"train_length must be from 1 to {length - 1}, got {train_length}")
    order = torch.randperm(length, generator=torch.Generator().manual_seed(seed))
    inputs, labels = images[order], classes[order]
    return Digits(inputs[:train_length], labels[:train_length], inputs[train_length:], labels[train_length:])


def digit_batches(
    batch_size: int, *, rank: int = 0, seed: int = 0, digits: Digits | None = None
) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Yield (inputs, labels) of random training digits without end: [batch_size, 64] and [batch_size].

    Each rank draws its own; see `random_batches`.

    >>> [tuple(part.shape) for part in next(digit_batches(32))]
    [(32, 64), (32,)]
    """
    inputs, labels = (digits or _kept())[:2]
    for chosen in random_batches(len(labels), batch_size, rank=rank, seed=seed):
        yield inputs[chosen], labels[chosen]


def digits_model(seed: int = 0, hidden: int = 32, batch_norm: bool = False) -> nn.Sequential:
    """A classifier of 64 pixels with one hidden layer; the same weights for the same seed, on every rank.

    >>> digits_model()(torch.zeros(5, 64)).shape
    torch.Size([5, 10])
    """
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)  # the processor's: an accelerator's numbers go on
        norm = [nn.BatchNorm1d(hidden)] if batch_norm else []
        return nn.Sequential(nn.Linear(64, hidden), *norm, nn.ReLU(), nn.Linear(hidden, 10))


def accuracy(model: nn.Module, inputs: torch.Tensor, labels: torch.Tensor) -> float:
    """The part of the images that the model, in evaluation mode, classifies rightly."""
    return scores(model, inputs, labels)[1]


def scores(model: nn.Module, inputs: torch.Tensor, labels: torch.Tensor) -> tuple[float, float]:
    """Mean loss and accuracy of the model in evaluation mode; it stays in the mode it was in."""
    training = model.training
    model.eval()
    with torch.no_grad():
        outputs = model(inputs)
    model.train(training)
    return functional.cross_entropy(outputs, labels).item(), (outputs.argmax(1) == labels).float().mean().item()


@cache
def _kept() -> Digits:
    """The digits for our own use, split once; nobody may change them."""
    return load_digits()


@cache
def _read() -> tuple[torch.Tensor, torch.Tensor]:
    library = distribution("scikit-learn")  # its file alone: each process of a training would import it for a second
    table = np.loadtxt(str(library.locate_file("sklearn/datasets/data/digits.csv.gz")), delimiter=",")
    return torch.tensor(table[:, :-1], dtype=torch.float32) / 16, torch.tensor(table[:, -1], dtype=torch.int64)
