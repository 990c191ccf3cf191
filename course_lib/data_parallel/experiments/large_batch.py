"""Large batches on real data: handwritten digits, every recipe for the learning rate, many seeds.

What Goyal et al. saw on ImageNet, in seconds. Measured over 128 seeds, percent of test images wrong:

    batch, scaled rate, gradual warm-up      4      16     32     64     128    256
    error (± 0.08, the last ± 0.4)           2.24   2.26   2.38   2.39   3.00   5.54

Weights start 2.5 times as large as He et al. advise. Start, rate, epochs and warm-up were chosen, on other seeds, so
that every effect is large enough to be seen.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch

from course_lib.checks import at_least
from course_lib.data_parallel.experiments.replicas import (
    momentum_step,
    replica_gradients,
    replica_outputs,
    start_replicas,
)
from course_lib.data_parallel.rate_schedule import Schedule
from course_lib.data_parallel.sharding import epoch_order
from course_lib.tasks import load_digits

__all__ = [
    "BASELINE",
    "GOYAL_ERRORS",
    "GOYAL_RECIPES",
    "RECIPES",
    "LargeBatch",
    "Outcome",
    "Recipe",
    "error_by_batch_size",
    "split_by_seed",
    "train_recipes",
]


class Recipe(NamedTuple):
    """How a larger batch changes the learning rate: one of SCALINGS and one of WARM_UPS."""

    scaling: str
    warm_up: str


BASELINE = Recipe("none", "none")
RECIPES = {
    "gradual warm-up": Recipe("linear", "gradual"),
    "no warm-up": Recipe("linear", "none"),
    "constant warm-up": Recipe("linear", "constant"),
    "√k": Recipe("sqrt", "gradual"),
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

    def schedule(self, recipe: Recipe, batch_size: int) -> Schedule:
        """The recipe's rate; it decays after 1/3, 2/3 and 8/9 of the epochs, as in Goyal's 90."""
        return Schedule(
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


class Outcome(NamedTuple):
    """Measured: the part of the test images that the trained networks got wrong, for each seed."""

    batch_size: int
    recipe: Recipe
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
    recipes: Sequence[Recipe],
    seeds: Sequence[int],
    progress: Callable[[int], None] | None = None,
) -> list[Outcome]:
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
    return [Outcome(batch_size, recipe, tuple(row)) for recipe, row in zip(recipes, errors, strict=True)]


def error_by_batch_size(
    batch_sizes: Sequence[int] = (4, 16, 32, 64, 128, 256),
    seeds: Sequence[int] = range(32),
    task: LargeBatch | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[Outcome]:
    """Measured test error of the scaled rate with gradual warm-up, for every batch size.

    Args:
        progress: called with the updates done and all updates.

    Cost: about 10 s on one core.
    """
    chosen = {batch_size: [RECIPES["gradual warm-up"]] for batch_size in batch_sizes}
    return _train_all(task or LargeBatch(), chosen, seeds, progress)


def _train_all(
    task: LargeBatch,
    chosen: Mapping[int, list[Recipe]],
    seeds: Sequence[int],
    progress: Callable[[int, int], None] | None,
) -> list[Outcome]:
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
