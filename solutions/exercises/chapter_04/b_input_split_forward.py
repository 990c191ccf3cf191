"""Exercise 04b: the forward pass of a layer that is cut by inputs, and where its bias goes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch

from course_lib.grading.exercise import Case, Exercise
from course_lib.grading.exercises.common import FAILURES, Mistakes, all_reduced, given_nothing, matrix, mistaken

__all__ = ["EXERCISE"]


# Cases

# ranks, batch, inputs, outputs, trials with a changed message
SHAPES = ((1, 3, 4, 5, 0), (2, 2, 5, 3, 0), (3, 4, 6, 6, 1), (4, 3, 9, 7, 1))


def layers(rng: np.random.Generator) -> Iterator[Case]:
    """Every rank has its columns of x and of the weight, and the whole bias."""
    for world_size, batch, inputs, outputs, perturb in SHAPES:
        x, weight = matrix(rng, batch, inputs), matrix(rng, outputs, inputs)
        bias = 12 * matrix(rng, outputs)  # so that bias / world_size is a whole number, too
        parts = zip(x.tensor_split(world_size, 1), weight.tensor_split(world_size, 1), strict=True)
        given = [(mine.contiguous(), columns.contiguous(), bias) for mine, columns in parts]
        label = f"world_size {world_size}, batch {batch}, {inputs} inputs, {outputs} outputs"
        about = {"elements": batch * outputs}
        yield Case(world_size, given, [x @ weight.T + bias] * world_size, perturb, label, about)


# Diagnoses


def slips(case: Case) -> Mistakes:
    own, size = [x @ weight.T for x, weight, _ in case.inputs], case.world_size
    bias, total = case.inputs[0][2], sum(x @ weight.T for x, weight, _ in case.inputs)
    yield f"has {size} biases in y: every rank added one before the sum", [total + size * bias] * size
    if size > 1:
        lonely = [total + bias if rank == 0 else total for rank in range(size)]
        yield "has no bias in y, but rank 0 has: every rank returns all of it", [torch.zeros(0), *lonely[1:]]
    yield "has no bias", [total] * size
    yield "returned its own addend: y is the sum over all ranks, plus the bias", [part + bias for part in own]
    yield "divided the sum by the number of ranks; the addends are parts of one sum", [total / size + bias] * size


# The exercise

EXERCISE = Exercise(
    id="04b",
    title="Cut by inputs, and the bias",
    function="input_split_forward",
    points=4,
    answer="return",
    cases=layers,
    rules=all_reduced(lambda case: case.about["elements"], "only y crosses, batch × outputs numbers"),
    diagnoses=(*FAILURES, given_nothing, mistaken(slips)),
    hints=(
        "Every rank has an addend of every output. And how often does the bias belong into the sum of all addends?",
        "An all-reduce of x @ weight.T gives the sum. The bias is the same on every rank.",
        "y = x @ weight.T; all_reduce(comm, y); return y + bias.",
    ),
)
