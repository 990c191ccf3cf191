"""Batch statistics: how far a batch's mean and variance are from those of all data, and what ranks' own parts lose."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

import torch
from torch import nn
from torch.nn import functional

from course_lib.comm import Communicator
from course_lib.data_parallel.averaging import average_gradients_in_buckets
from course_lib.data_parallel.batch_norm import synchronize_batch_norm
from course_lib.data_parallel.sharding import split_batch
from course_lib.tasks import Digits, digits_model, random_batches, scores


class Scatter(NamedTuple):
    """How the statistics of batches of one size lie around those of all data; each a mean over batches and features.

    Attributes:
        variance_ratio: mean of biased batch variance / variance, by which batch normalization divides.
        variance_error: root mean square of (unbiased batch variance - variance) / variance.
    """

    batch_size: int
    variance_ratio: float
    variance_error: float


class Judged(NamedTuple):
    """Measured on test digits: loss and accuracy with this rank's running statistics.

    Attributes:
        loss_again: the loss with the statistics of all training digits in place of them, the same on every rank.
    """

    loss: float
    accuracy: float
    loss_again: float


def statistics_scatter(values: torch.Tensor, batch_size: int, draws: int = 2000, seed: int = 0) -> Scatter:
    """Measure the scatter on `draws` random batches of [examples, features], drawn with replacement.

    Features that never change are left out.

    Raises:
        ValueError: if `batch_size` is less than 2, for one value has no variance.
    """
    _check_batch_size(batch_size)
    values = _changing(values)
    generator = torch.Generator().manual_seed(seed)
    batches = values[torch.randint(len(values), (draws, batch_size), generator=generator)]
    variance = values.var(0, correction=0)
    biased = batches.var(1, correction=0) / variance
    errors = biased * batch_size / (batch_size - 1) - 1
    return Scatter(batch_size, biased.mean().item(), _rms(errors))


def expected_scatter(values: torch.Tensor, batch_size: int) -> Scatter:
    """Compute the scatter: (n - 1)/n and √((κ - (n - 3)/(n - 1)) / n), κ the features' mean kurtosis.

    Source: H. Cramér, Mathematical Methods of Statistics, 1946, chapter 27, for the variance of a variance.
    """
    _check_batch_size(batch_size)
    values, n = _changing(values), batch_size
    centered = values - values.mean(0)
    kurtosis = ((centered**4).mean(0) / (centered**2).mean(0) ** 2).mean().item()
    return Scatter(n, (n - 1) / n, math.sqrt((kurtosis - (n - 3) / (n - 1)) / n))


def variance_parts(values: torch.Tensor, lengths: Sequence[int]) -> tuple[torch.Tensor, torch.Tensor]:
    """The variance inside the parts of [examples, features] and that between their means, for each feature.

    Both weigh a part by its length, and together they are the variance of all. Ranks that normalize alone, and
    micro-batches, see the first and never the second.

    >>> inside, between = variance_parts(torch.tensor([[0.0], [2.0], [4.0], [6.0]]), lengths=[2, 2])
    >>> inside.item(), between.item()
    (1.0, 4.0)
    """
    parts = [part for part in values.double().split(list(lengths)) if len(part)]
    shares = torch.tensor([len(part) / len(values) for part in parts], dtype=torch.float64)
    means = torch.stack([part.mean(0) for part in parts])
    variances = torch.stack([part.var(0, correction=0) for part in parts])
    return shares @ variances, shares @ (means - shares @ means) ** 2


def running_weight(momentum: float, micro_batches: int) -> float:
    """How much of the running statistics one optimizer step replaces: every micro-batch moves them once.

    >>> running_weight(0.5, 1), running_weight(0.5, 4)
    (0.5, 0.9375)
    """
    return 1 - (1 - momentum) ** micro_batches


def train_with_batch_norm(
    comm: Communicator,
    digits: Digits,
    part_size: int,
    *,
    synchronized: bool,
    sort: bool = False,
    steps: int = 60,
    rate: float = 0.2,
    seed: int = 0,
) -> Judged:
    """How a classifier does on test digits that trained on `part_size` digits a rank and step.

    Ranks agree on the weights; where they are not synchronized, each is judged with its own running statistics.

    Args:
        sort: rank 0 gets the batch's lowest labels, the last rank the highest: parts that are not alike.
    """
    model = digits_model(seed, batch_norm=True).to(digits.train_inputs.device)
    if synchronized:
        model = synchronize_batch_norm(comm, model)
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    for batch in islice(random_batches(len(digits.train_labels), part_size * comm.world_size, seed=seed), steps):
        if sort:
            batch = batch[digits.train_labels[batch].argsort(stable=True).cpu()]
        part = split_batch(batch, comm.world_size)[comm.rank]
        optimizer.zero_grad()
        functional.cross_entropy(model(digits.train_inputs[part]), digits.train_labels[part]).backward()
        average_gradients_in_buckets(comm, model)
        optimizer.step()
    running = scores(model, digits.test_inputs, digits.test_labels)
    _estimate_again(model, digits.train_inputs)
    return Judged(*running, scores(model, digits.test_inputs, digits.test_labels)[0])


def _estimate_again(model: nn.Module, inputs: torch.Tensor) -> None:
    """Give the layers of batch normalization the statistics of all these inputs."""
    for layer in model.modules():
        if isinstance(layer, nn.BatchNorm1d):
            layer.reset_running_stats()
            layer.momentum = None  # a mean of all batches, of which there is one
    with torch.no_grad():
        model(inputs)


def _changing(values: torch.Tensor) -> torch.Tensor:
    """The features that change at all, in float64."""
    return values.double()[:, values.amax(0) > values.amin(0)]


def _check_batch_size(batch_size: int) -> None:
    if batch_size < 2:
        raise ValueError(f"batch_size must be 2 or more: one value has no variance; got {batch_size}")


def _rms(values: torch.Tensor) -> float:
    return (values * values).mean().sqrt().item()
