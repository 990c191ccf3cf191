"""The same training in several precisions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import torch
from torch import nn
from torch.nn import functional

from course_lib.precision.experiments.problems import Problem
from course_lib.precision.mixed_training import (
    DynamicScaler,
    MasterWeights,
    StaticScaler,
    mixed_step,
    stochastic_rounding,
)


@dataclass(frozen=True)
class Recipe:
    """A way to train.

    Args:
        dtype: of weights, activations and gradients.
        scale: the loss is scaled by a `DynamicScaler` that begins here; None: it is not.
        growth_interval: that scaler's.
        master: there is an fp32 master copy of the weights.
        stochastic: weights are rounded up or down by chance.
        clip: longer gradients are shortened to this norm, once they are unscaled; None: they are not.
        clip_scaled: they are shortened while they are still scaled, as in a common mistake.
    """

    dtype: torch.dtype = torch.float16
    scale: float | None = 2.0**16
    growth_interval: int = 2000
    master: bool = True
    stochastic: bool = False
    clip: float | None = None
    clip_scaled: bool = False


FP32_RECIPE = Recipe(torch.float32, scale=None)
MIXED = Recipe()


class RecipeHistory(NamedTuple):
    """Loss and scale of each step, how many steps were skipped, and the trained model."""

    loss: list[float]
    scales: list[float]
    skipped: int
    model: nn.Module
    origin: str = "measured"

    @property
    def steps(self) -> list[int]:
        """The steps' numbers."""
        return list(range(len(self.loss)))

    @property
    def final_loss(self) -> float:
        """The mean over the last 20 steps."""
        return sum(self.loss[-20:]) / len(self.loss[-20:])

    def first_below(self, loss: float) -> int | None:
        """The first step whose loss is below this one; None where there is none.

        >>> RecipeHistory([0.3, 0.06, 0.05], [], 0, nn.Identity()).first_below(0.068)
        1
        """
        return next((step for step, each in enumerate(self.loss) if each < loss), None)


def train(problem: Problem, recipe: Recipe, steps: int, seed: int = 0) -> RecipeHistory:
    """Train so many steps; the same seed gives every recipe the same first weights and the same batches."""
    model = add_in_fp32(problem.model(seed))
    rounding = stochastic_rounding(recipe.dtype, seed) if recipe.stochastic else None
    master = MasterWeights(model, recipe.dtype, keep=recipe.master, rounding=rounding)
    optimizer = problem.optimizer(master.parameters)
    if recipe.clip is not None:
        _clip_by(recipe, optimizer, master)
    scaler = StaticScaler() if recipe.scale is None else DynamicScaler(recipe.scale, recipe.growth_interval)
    losses = []
    scales = []
    skipped = 0
    for (inputs, targets), _ in zip(problem.batches(seed), range(steps), strict=False):
        scales.append(scaler.scale)
        x = inputs.to(recipe.dtype) if inputs.is_floating_point() else inputs
        loss_of = partial(_loss, problem, model, x, targets)
        loss, finite = mixed_step(master, optimizer, scaler, loss_of)
        losses.append(loss)
        skipped += not finite
    return RecipeHistory(losses, scales, skipped, model)


def _clip_by(recipe: Recipe, optimizer: torch.optim.Optimizer, master: MasterWeights) -> None:
    """From now on each step clips: while the gradients are scaled, or between unscaling and the update."""

    def clip(*_: object) -> None:
        nn.utils.clip_grad_norm_(master.parameters, recipe.clip)

    def take_clipped() -> list[torch.Tensor]:
        gradients = take_gradients()
        clip()
        return gradients

    take_gradients = master.take_gradients
    if recipe.clip_scaled:
        master.take_gradients = take_clipped  # type: ignore[method-assign]
    else:
        optimizer.register_step_pre_hook(clip)


class _Linear(nn.Linear):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        bias = None if self.bias is None else self.bias.float()
        return functional.linear(x.float(), self.weight.float(), bias).to(x.dtype)


def add_in_fp32(model: nn.Module) -> nn.Module:
    """The model; its fully connected layers widen 16-bit factors, add in fp32 and round once, forward and back.

    So does torch's own product of 16 bits, which takes ten times as long on a CPU that has none built in.
    """
    for layer in model.modules():
        if type(layer) is nn.Linear:
            layer.__class__ = _Linear
    return model


def _loss(problem: Problem, model: nn.Module, inputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """The loss of what the model says, in fp32, whatever the model computes in."""
    return problem.loss(model(inputs).float(), targets)
