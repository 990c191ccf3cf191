"""The critical batch size, measured: updates and examples that a goal takes, and the noise that explains them.

updates   ＼                        below: twice the batch, half the updates
            ＼＿＿＿＿＿＿           above: twice the batch, the same updates
                B_crit     batch

Source: McCandlish et al., "An empirical model of large-batch training", arXiv 1812.06162, 2018, sections 2.3 and 3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import count, islice
from typing import NamedTuple

import torch

from course_lib.checks import at_least
from course_lib.data_parallel.experiments.replicas import (
    momentum_step,
    replica_gradients,
    replica_losses,
    start_replicas,
)
from course_lib.data_parallel.noise_scale import GradientNoise, example_gradients, gradient_noise
from course_lib.data_parallel.sharding import epoch_order, global_batches
from course_lib.tasks import Digits, digits_model, load_digits, random_batches, scores

__all__ = ["Goal", "NoisePoint", "fit_critical_batch_size", "noise_in_training", "updates_to_goal"]

_RATES = tuple(0.05 * 2**step for step in range(7))


class Goal(NamedTuple):
    """Measured: what it took to bring the loss down to the goal with batches of one size.

    Attributes:
        rate: the one of the rates that needed the fewest updates.
    """

    batch_size: int
    rate: float
    updates: int

    @property
    def examples(self) -> int:
        """Gradients of single examples that were computed."""
        return self.batch_size * self.updates


class NoisePoint(NamedTuple):
    """Measured after `updates` updates: the loss on all training images, and the noise of their gradients."""

    updates: int
    loss: float
    noise: GradientNoise


def noise_in_training(
    points: Sequence[int] = (0, 10, 30, 100, 300, 1000),
    batch_size: int = 32,
    rate: float = 0.2,
    digits: Digits | None = None,
    seed: int = 0,
) -> list[NoisePoint]:
    """Train a digit classifier with plain SGD, and measure its gradient noise at these numbers of updates.

    Cost: about 1 s.
    """
    digits = digits or load_digits()
    model = digits_model(seed)
    found = []
    done = 0
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    batches = _shuffled_batches(len(digits.train_labels), batch_size, seed)
    for point in sorted(points):
        while done < point:
            batch = next(batches)
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(digits.train_inputs[batch]), digits.train_labels[batch]).backward()
            optimizer.step()
            done += 1
        gradients = example_gradients(model, digits.train_inputs, digits.train_labels)
        loss, _ = scores(model, digits.train_inputs, digits.train_labels)
        found.append(NoisePoint(point, loss, gradient_noise(gradients)))
    return found


def updates_to_goal(
    batch_sizes: Sequence[int] = (2, 4, 8, 16, 32, 64, 128, 256, 512),
    goal: float = 0.3,
    rates: Sequence[float] = _RATES,
    seeds: Sequence[int] = range(4),
    limit: int = 3000,
    progress: Callable[[int, int], None] | None = None,
) -> list[Goal]:
    """Measured: how many updates of plain SGD bring the training loss down to `goal`, at each batch size's best rate.

    Batches are drawn anew for each update, with replacement. The loss is the mean over the seeds, looked at after
    every second update, later whenever the updates have grown by 4 %.

    Args:
        limit: the most updates that a batch size gets.
        progress: called with the batch sizes done and all batch sizes.

    Raises:
        ValueError: if no rate reaches the goal.

    Cost: about 3 s on one core.
    """
    digits, found = load_digits(), []
    for batch_size in batch_sizes:
        found.append(_first_to_goal(digits, batch_size, goal, rates, seeds, limit))
        if progress is not None:
            progress(len(found), len(batch_sizes))
    return found


def fit_critical_batch_size(goals: Sequence[Goal]) -> tuple[float, float]:
    """B_crit and the fewest updates of the curve fewest × (1 + B_crit/B) that misses the measured updates least.

    At B_crit both updates and examples are twice their least. Least squares on relative errors.

    >>> critical, fewest = fit_critical_batch_size([Goal(1, 0.1, 110), Goal(10, 0.1, 20), Goal(100, 0.1, 11)])
    >>> round(critical, 6), round(fewest, 6)
    (10.0, 10.0)
    """
    for goal in goals:
        at_least(1, updates=goal.updates, batch_size=goal.batch_size)
    rows = torch.tensor([[1 / goal.updates, 1 / goal.updates / goal.batch_size] for goal in goals], dtype=torch.double)
    ones = torch.ones(len(goals), 1, dtype=torch.double)
    fewest, slope = torch.linalg.lstsq(rows, ones).solution.flatten().tolist()
    return slope / fewest, fewest


def _shuffled_batches(examples: int, batch_size: int, seed: int) -> Iterator[torch.Tensor]:
    for epoch in count():
        yield from global_batches(epoch_order(examples, epoch=epoch, seed=seed), batch_size)


def _first_to_goal(
    digits: Digits, batch_size: int, goal: float, rates: Sequence[float], seeds: Sequence[int], limit: int
) -> Goal:
    """Train with all rates side by side until the first one is there."""
    parameters = [parameter.repeat(len(rates), 1, 1) for parameter in start_replicas((64, 32, 10), seeds)]
    velocities = [torch.zeros_like(parameter) for parameter in parameters]
    every_rate = torch.tensor(rates).repeat_interleave(len(seeds))
    everything = digits.train_inputs.expand(len(every_rate), -1, -1), digits.train_labels.expand(len(every_rate), -1)
    look = 1
    draws = random_batches(len(digits.train_labels), len(every_rate) * batch_size)
    for update, drawn in enumerate(islice(draws, limit), start=1):
        examples = drawn.view(-1, batch_size)
        gradients = replica_gradients(parameters, digits.train_inputs[examples], digits.train_labels[examples])
        momentum_step(parameters, velocities, gradients, every_rate, momentum=0, weight_decay=0)
        if update >= look:
            look = max(update + 2, int(update * 1.04))
            losses = replica_losses(parameters, *everything).view(len(rates), len(seeds)).mean(1)
            best = losses.nan_to_num(float("inf")).argmin().item()
            if losses[best] <= goal:
                return Goal(batch_size, rates[best], update)
    raise ValueError(f"no rate of {list(rates)} reaches a loss of {goal} in {limit} updates of {batch_size} images")
