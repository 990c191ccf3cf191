"""Large batches on real data: recipes for the learning rate over many seeds, and the critical batch size measured.

What Goyal et al. saw on ImageNet, in seconds. Measured over 128 seeds, percent of test images wrong:

    batch, scaled rate, gradual warm-up      4      16     32     64     128    256
    error (± 0.08, the last ± 0.4)           2.24   2.26   2.38   2.39   3.00   5.54

Weights start 2.5 times as large as He et al. advise. Start, rate, epochs and warm-up were chosen, on other seeds, so
that every effect is large enough to be seen.

The critical batch size, from the updates and examples that a goal takes:

updates   ＼                        below: twice the batch, half the updates
            ＼＿＿＿＿＿＿           above: twice the batch, the same updates
                B_crit     batch

Source: McCandlish et al., "An empirical model of large-batch training", arXiv 1812.06162, 2018, sections 2.3 and 3.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, islice
from typing import NamedTuple

import torch

from course_lib.checks import at_least
from course_lib.data_parallel.batch_size import GradientNoise, RateSchedule, example_gradients, gradient_noise
from course_lib.data_parallel.experiments.replicas import (
    momentum_step,
    replica_gradients,
    replica_losses,
    replica_outputs,
    start_replicas,
)
from course_lib.data_parallel.sharding import epoch_order, global_batches
from course_lib.tasks import Digits, digits_model, load_digits, random_batches, scores


class RateRecipe(NamedTuple):
    """How a larger batch changes the learning rate: one of SCALINGS and one of WARM_UPS."""

    scaling: str
    warm_up: str


BASELINE = RateRecipe("none", "none")
RECIPES = {
    "gradual warm-up": RateRecipe("linear", "gradual"),
    "no warm-up": RateRecipe("linear", "none"),
    "constant warm-up": RateRecipe("linear", "constant"),
    "√k": RateRecipe("sqrt", "gradual"),
    "unscaled": BASELINE,
}

# Published: top-1 error of ResNet-50 on ImageNet in percent, by images in a batch, and by recipe at 8192.
# Source: P. Goyal et al., "Accurate, large minibatch SGD", arXiv 1706.02677, 2017, tables 1 and 2a.
GOYAL_ERRORS = {256: 23.60, 1024: 23.53, 4096: 23.56, 8192: 23.74, 16384: 24.79, 32768: 27.55, 65536: 33.96}
GOYAL_RECIPES = {
    "gradual warm-up": 23.74,
    "no warm-up": 24.84,
    "constant warm-up": 25.88,
    "√k": 26.22,
    "unscaled": 41.67,
}


@dataclass(frozen=True)
class LargeBatch:
    """The task: 1,437 digits to train on and 360 to test with, split anew for every seed; one hidden layer.

    Args:
        base_batch: images in the small batch, for which `base_rate` is right.
        warm_up_epochs: of a recipe that warms up.
        start_scale: weights start this many times as large as He et al. advise.
    """

    base_batch: int = 4
    base_rate: float = 0.02
    hidden: int = 64
    start_scale: float = 2.5
    epochs: int = 20
    warm_up_epochs: float = 4
    momentum: float = 0.9
    weight_decay: float = 1e-4
    train_length: int = 1437

    def schedule(self, recipe: RateRecipe, batch_size: int) -> RateSchedule:
        """The recipe's rate; it decays after 1/3, 2/3 and 8/9 of the epochs, as in Goyal's 90."""
        return RateSchedule(
            self.base_rate,
            batch_size / self.base_batch,
            recipe.scaling,
            recipe.warm_up,
            self.warm_up_epochs,
            tuple(self.epochs * part for part in (1 / 3, 2 / 3, 8 / 9)),
        )

    def updates(self, batch_size: int) -> int:
        """How often the weights change in all; the last batch of an epoch may be smaller."""
        return self.epochs * math.ceil(self.train_length / batch_size)


class SeedErrors(NamedTuple):
    """Measured: the part of the test images that the trained networks got wrong, for each seed."""

    batch_size: int
    recipe: RateRecipe
    errors: tuple[float, ...]

    @property
    def error(self) -> float:
        """The mean over the seeds."""
        return statistics.fmean(self.errors)

    @property
    def standard_error(self) -> float:
        """Of that mean."""
        return statistics.stdev(self.errors) / math.sqrt(len(self.errors))


def split_by_seed(length: int, train_length: int, seeds: Sequence[int]) -> tuple[torch.Tensor, torch.Tensor]:
    """The numbers of the images that each seed trains on and of those that test it: [seeds, ...] each.

    >>> split_by_seed(5, 3, seeds=[0, 1])
    (tensor([[4, 0, 1],
            [0, 4, 2]]), tensor([[3, 2],
            [3, 1]]))
    """
    at_least(1, seeds=len(seeds))
    orders = torch.stack([epoch_order(length, epoch=0, seed=seed) for seed in seeds])
    return orders[:, :train_length], orders[:, train_length:]


def train_recipes(
    task: LargeBatch,
    batch_size: int,
    recipes: Sequence[RateRecipe],
    seeds: Sequence[int],
    progress: Callable[[int], None] | None = None,
) -> list[SeedErrors]:
    """Train a network for each recipe and each seed, all side by side, and test it.

    Args:
        progress: called after every epoch, with the number of updates that it had.
    """
    digits = load_digits()
    inputs, labels = torch.cat([digits.train_inputs, digits.test_inputs]), torch.cat(digits[1::2])
    train, test = split_by_seed(len(labels), task.train_length, seeds)
    parameters = [p.repeat(len(recipes), 1, 1) for p in start_replicas((64, task.hidden, 10), seeds, task.start_scale)]
    velocities = [torch.zeros_like(parameter) for parameter in parameters]
    schedules = [task.schedule(recipe, batch_size) for recipe in recipes]
    for epoch in range(task.epochs):
        orders = [epoch_order(task.train_length, epoch=epoch, seed=1000 * (seed + 1)) for seed in seeds]
        order = train.gather(1, torch.stack(orders)).repeat(len(recipes), 1)
        batches = order.split(batch_size, dim=1)
        for number, examples in enumerate(batches):
            rates = [schedule.rate(epoch + number / len(batches)) for schedule in schedules]
            every_rate = torch.tensor([rate for rate in rates for _ in seeds])
            gradients = replica_gradients(parameters, inputs[examples], labels[examples])
            options = {"momentum": task.momentum, "weight_decay": task.weight_decay}
            momentum_step(parameters, velocities, gradients, every_rate, **options)
        if progress is not None:
            progress(len(batches))
    examples = test.repeat(len(recipes), 1)
    wrong = replica_outputs(parameters, inputs[examples]).argmax(2) != labels[examples]
    errors = wrong.float().mean(1).view(len(recipes), len(seeds)).tolist()
    return [SeedErrors(batch_size, recipe, tuple(row)) for recipe, row in zip(recipes, errors, strict=True)]


def error_by_batch_size(
    batch_sizes: Sequence[int] = (4, 16, 32, 64, 128, 256),
    seeds: Sequence[int] = range(32),
    task: LargeBatch | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[SeedErrors]:
    """Measured test error of the scaled rate with gradual warm-up, for every batch size.

    Args:
        progress: called with the updates done and all updates.

    Cost: about 10 s on one core.
    """
    chosen = {batch_size: [RECIPES["gradual warm-up"]] for batch_size in batch_sizes}
    return _train_all(task or LargeBatch(), chosen, seeds, progress)


def _train_all(
    task: LargeBatch,
    chosen: Mapping[int, list[RateRecipe]],
    seeds: Sequence[int],
    progress: Callable[[int, int], None] | None,
) -> list[SeedErrors]:
    total, done = sum(task.updates(batch_size) for batch_size in chosen), 0

    def show(updates: int) -> None:
        nonlocal done
        done += updates
        if progress is not None:
            progress(done, total)

    return [
        outcome
        for batch_size, recipes in chosen.items()
        for outcome in train_recipes(task, batch_size, recipes, seeds, show)
    ]


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
