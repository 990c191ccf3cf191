"""The digits on an asynchronous pipeline: what the rule for weights does to the training, on many seeds at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain, islice, pairwise
from typing import NamedTuple

import torch
from torch import nn
from torch.nn import functional

from course_lib.comm import Communicator, Report, simulate
from course_lib.pipeline.pipedream.asynchronous import asynchronous_1f1b
from course_lib.pipeline.pipedream.training import train_asynchronously
from course_lib.tasks import Digits, digit_batches, load_digits

__all__ = ["DigitsRun", "SeedsLinear", "digit_stages", "train_digit_stage", "train_digits"]

WIDTH, BATCH_SIZE = 32, 32


class DigitsRun(NamedTuple):
    """How a training ended.

    Attributes:
        test_accuracies: of each seed's network.
        losses: of each batch, averaged over seeds.
        peak_weight_bytes: for each rank, what the versions of one seed's weights took at most.
    """

    test_accuracies: list[float]
    losses: list[float]
    peak_weight_bytes: list[int]


class SeedsLinear(nn.Module):
    """The same fully connected layer of several networks side by side, each drawn from its own seed.

    Weights are drawn for a ReLU behind them, biases are 0.

    Source: He et al., "Delving deep into rectifiers", arXiv 1502.01852, section 2.2.
    """

    def __init__(self, inputs: int, outputs: int, seeds: int, number: int) -> None:
        super().__init__()
        draws = [torch.Generator().manual_seed(1000 * number + seed) for seed in range(seeds)]
        weights = [torch.randn(inputs, outputs, generator=draw) * (2 / inputs) ** 0.5 for draw in draws]
        self.weight = nn.Parameter(torch.stack(weights))
        self.bias = nn.Parameter(torch.zeros(seeds, 1, outputs))

    def forward(self, x: torch.Tensor) -> torch.Tensor:  # [seeds, b, inputs] -> [seeds, b, outputs]
        return torch.baddbmm(self.bias, x, self.weight)


def digit_stages(stages: int, layers: int = 4, seeds: int = 1) -> list[nn.Sequential]:
    """Classifiers of digits with so many fully connected layers, cut into stages; the same however they are cut.

    Raises:
        ValueError: unless every stage has a layer.

    >>> [[tuple(layer.weight.shape[1:]) for layer in stage[::2]] for stage in digit_stages(2, layers=3)]
    [[(64, 32)], [(32, 32), (32, 10)]]
    """
    if not 1 <= stages <= layers:
        raise ValueError(f"every stage must have a layer, got {stages} stages for {layers} layers")
    widths = [64, *[WIDTH] * (layers - 1), 10]
    linear = [SeedsLinear(before, behind, seeds, number) for number, (before, behind) in enumerate(pairwise(widths))]
    parts = [[layer, nn.ReLU()] for layer in linear[:-1]] + [[linear[-1]]]
    cuts = [stage * layers // stages for stage in range(stages + 1)]
    return [nn.Sequential(*chain(*parts[first:last])) for first, last in pairwise(cuts)]


def train_digit_stage(
    comm: Communicator,
    digits: Digits,
    replicas: Sequence[int],
    rule: str,
    layers: int,
    batches: int,
    learning_rate: float,
    seeds: int,
) -> tuple[nn.Module, dict[int, float], int]:
    """One rank's part of the training: its stage, the losses that it saw, the bytes that it kept."""
    schedule = asynchronous_1f1b(replicas, batches)
    drawn = [list(islice(digit_batches(BATCH_SIZE, seed=seed, digits=digits), batches)) for seed in range(seeds)]
    images = [torch.stack([inputs for inputs, _ in each]) for each in zip(*drawn, strict=True)]
    labels = [torch.cat([labels for _, labels in each]) for each in zip(*drawn, strict=True)]

    def loss(scored: torch.Tensor, number: int) -> torch.Tensor:
        """The sum over seeds: each network gets its own gradient."""
        return functional.cross_entropy(scored.flatten(0, 1), labels[number], reduction="sum") / BATCH_SIZE

    rank = train_asynchronously(
        comm,
        schedule,
        digit_stages(schedule.stages, layers, seeds)[schedule.stage_of(comm.rank)].to(digits.train_inputs.device),
        images,
        lambda stage, number: (seeds, BATCH_SIZE, WIDTH),
        loss,
        learning_rate=learning_rate,
        rule=rule,
    )
    return rank.module, rank.losses, rank.peak_weight_bytes


def train_digits(
    replicas: Sequence[int] = (1, 1, 1, 1),
    rule: str = "stashing",
    *,
    layers: int = 4,
    batches: int = 300,
    learning_rate: float = 0.2,
    seeds: int = 10,
    executor: Callable[..., Report] = simulate,
) -> DigitsRun:
    """Train on the digits, simulated or on real processes (`executor=run`), and test what all stages are together.

    With replicas (1,) it is the same network trained by one process, where no weights are late.
    """
    digits = load_digits()
    arguments = digits, replicas, rule, layers, batches, learning_rate, seeds
    report = executor(train_digit_stage, sum(replicas), args=arguments)
    firsts = [sum(replicas[:stage]) for stage in range(len(replicas))]
    whole = nn.Sequential(*(report.results[first][0] for first in firsts))
    with torch.no_grad():
        chosen = whole(digits.test_inputs.expand(seeds, -1, -1)).argmax(-1)
    accuracies = (chosen == digits.test_labels).float().mean(1).tolist()
    losses = {batch: loss / seeds for _, seen, _ in report.results for batch, loss in seen.items()}
    return DigitsRun(accuracies, [losses[batch] for batch in range(batches)], [b // seeds for *_, b in report.results])
