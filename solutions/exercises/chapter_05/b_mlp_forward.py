"""Exercise 05b: two layers behind one another, the first cut by outputs and the second by inputs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from torch.nn.functional import gelu

from course_lib.grading.exercise import Case, Exercise
from course_lib.grading.exercises.common import FAILURES, Mistakes, all_reduced, given_nothing, matrix, mistaken

__all__ = ["EXERCISE"]


# Cases

# ranks, batch, width, hidden, trials with a changed message
SHAPES = ((1, 3, 3, 4, 0), (2, 2, 4, 6, 0), (3, 4, 3, 7, 1), (4, 3, 4, 8, 1))


def layers(rng: np.random.Generator) -> Iterator[Case]:
    """Every rank has x, its rows of the first weight and bias, its columns of the second weight, and its bias."""
    for world_size, batch, width, hidden, perturb in SHAPES:
        x, first, first_bias, second, second_bias = _layers(rng, batch, width, hidden)
        cut = zip(
            first.tensor_split(world_size),
            first_bias.tensor_split(world_size),
            second.tensor_split(world_size, 1),
            strict=True,
        )
        given = [(x, rows, bias, columns.contiguous(), second_bias) for rows, bias, columns in cut]
        y = torch.relu(x @ first.T + first_bias) @ second.T + second_bias
        label = f"world_size {world_size}, batch {batch}, width {width}, hidden {hidden}"
        yield Case(world_size, given, [y] * world_size, perturb, label)


def _layers(rng: np.random.Generator, batch: int, width: int, hidden: int) -> tuple[torch.Tensor, ...]:
    """Drawn until relu changes something between the layers, and would change something else behind them.

    Some hidden number is 1 or -1, where GELU is another than relu. The last bias is a multiple of 12, so that each
    rank's share of it is a whole number, too.
    """
    shapes = (batch, width), (hidden, width), (hidden,), (width, hidden), (width,)
    while True:
        x, first, first_bias, second, second_bias = drawn = tuple(matrix(rng, *shape) for shape in shapes)
        second_bias *= 12
        between = x @ first.T + first_bias
        behind = between @ second.T + second_bias
        both = all(bool((numbers < 0).any() and (numbers > 0).any()) for numbers in (between, behind))
        if both and (between.abs() == 1).any():
            return drawn


# Diagnoses


def slips(case: Case) -> Mistakes:
    size, bias = case.world_size, case.inputs[0][4]
    own = [torch.relu(x @ first.T + b) @ second.T for x, first, b, second, _ in case.inputs]
    total = torch.stack(own).sum(0)
    if size > 1:
        yield f"has {size} second biases in y: every rank added one before the sum", [total + size * bias] * size
    yield "has no second bias", [total] * size
    yield "returned its own addend: y is the sum over all ranks, plus the bias", [part + bias for part in own]
    yield "divided the sum by the number of ranks; the addends are parts of one sum", [total / size + bias] * size
    straight = sum((x @ first.T + b) @ second.T for x, first, b, second, _ in case.inputs)
    yield "has no relu between the layers", [straight + bias] * size
    for late in (torch.relu(straight + bias), torch.relu(straight) + bias):
        yield "has relu behind the second layer; it belongs between the two", [late] * size
    bent = sum(gelu(x @ first.T + b) @ second.T for x, first, b, second, _ in case.inputs)
    yield "has GELU between the layers; here it is relu", [bent + bias] * size
    after = sum((torch.relu(x @ first.T) + b) @ second.T for x, first, b, second, _ in case.inputs)
    yield "has the first bias behind relu; it is part of the first layer", [after + bias] * size
    unbiased = sum(torch.relu(x @ first.T) @ second.T for x, first, _, second, _ in case.inputs)
    yield "has no first bias: each rank adds its part of it before relu", [unbiased + bias] * size


# The exercise

EXERCISE = Exercise(
    id="05b",
    title="A cut MLP",
    function="mlp_forward",
    points=6,
    answer="return",
    cases=layers,
    rules=all_reduced(lambda case: case.tensor.numel(), "only y crosses, once: batch × width numbers"),
    diagnoses=(*FAILURES, given_nothing, mistaken(slips)),
    hints=(
        "Which hidden numbers does this rank have after the first layer? Are they whole, so that relu may be applied?",
        "They are, and they are just what this rank's columns of the second weight want. What comes out is an addend.",
        "y = torch.relu(x @ first.T + first_bias) @ second.T; all_reduce(comm, y); return y + second_bias.",
    ),
)
