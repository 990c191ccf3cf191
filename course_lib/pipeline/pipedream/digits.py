"""The digits on an asynchronous pipeline: what the rule for weights does to the training."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice, pairwise
from typing import NamedTuple

import torch
from torch import nn
from torch.nn import functional

from course_lib.comm import Communicator, Report, simulate
from course_lib.pipeline.pipedream.asynchronous import asynchronous_1f1b
from course_lib.pipeline.pipedream.training import train_asynchronously
from course_lib.tasks import digit_batches, load_digits, scores

__all__ = ["DigitsRun", "digit_stages", "train_digit_stage", "train_digits"]

WIDTH = 32


class DigitsRun(NamedTuple):
    """How a training ended: on the test images, over its batches, and what each rank kept of weights."""

    test_loss: float
    test_accuracy: float
    losses: list[float]
    peak_weight_bytes: list[int]


def digit_stages(stages: int, seed: int = 0) -> list[nn.Module]:
    """A classifier of digits with a fully connected layer a stage; the same weights for the same seed.

    >>> [tuple(stage[0].weight.shape) for stage in digit_stages(3)]
    [(32, 64), (32, 32), (10, 32)]
    """
    widths = [64, *[WIDTH] * (stages - 1), 10]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        layers = [nn.Linear(before, behind) for before, behind in pairwise(widths)]
    return [nn.Sequential(layer, nn.ReLU()) for layer in layers[:-1]] + [nn.Sequential(layers[-1])]


def train_digit_stage(
    comm: Communicator, replicas: Sequence[int], rule: str, batches: int, learning_rate: float, seed: int
) -> tuple[nn.Module, dict[int, float], int]:
    """One rank's part of the training: its stage, the losses that it saw, the bytes that it kept."""
    schedule = asynchronous_1f1b(replicas, batches)
    images, labels = zip(*islice(digit_batches(32, seed=seed), batches), strict=True)
    rank = train_asynchronously(
        comm,
        schedule,
        digit_stages(schedule.stages, seed)[schedule.stage_of(comm.rank)],
        images,
        lambda stage, number: (len(images[number]), WIDTH),
        lambda scored, number: functional.cross_entropy(scored, labels[number]),
        learning_rate=learning_rate,
        rule=rule,
    )
    return rank.module, rank.losses, rank.peak_weight_bytes


def train_digits(
    replicas: Sequence[int] = (1, 1, 1, 1),
    rule: str = "stashing",
    *,
    batches: int = 300,
    learning_rate: float = 0.1,
    seed: int = 0,
    executor: Callable[..., Report] = simulate,
) -> DigitsRun:
    """Train on the digits, simulated or on real processes (`executor=run`), and test what all stages are together."""
    report = executor(train_digit_stage, sum(replicas), args=(replicas, rule, batches, learning_rate, seed))
    firsts = [sum(replicas[:stage]) for stage in range(len(replicas))]
    whole = nn.Sequential(*(report.results[first][0] for first in firsts))
    losses = {batch: loss for _, seen, _ in report.results for batch, loss in seen.items()}
    digits = load_digits()
    test = scores(whole, digits.test_inputs, digits.test_labels)
    return DigitsRun(*test, [losses[batch] for batch in range(batches)], [kept for *_, kept in report.results])
