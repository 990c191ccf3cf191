"""Exercise 04a: the backward pass of a layer that is cut by outputs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from course_lib.grading.exercise import Case, Exercise
from course_lib.grading.exercises.common import FAILURES, Mistakes, all_reduced, given_nothing, matrix, mistaken

__all__ = ["EXERCISE"]


# Cases

# ranks, batch, inputs, outputs, trials with a changed message
SHAPES = ((1, 3, 4, 5, 0), (2, 2, 5, 4, 0), (3, 4, 6, 6, 1), (4, 3, 7, 8, 1))


def layers(rng: np.random.Generator) -> Iterator[Case]:
    """Every rank has x, its rows of the weight and its part of the gradient of y."""
    for world_size, batch, inputs, outputs, perturb in SHAPES:
        x, weight, y_grad = matrix(rng, batch, inputs), matrix(rng, outputs, inputs), matrix(rng, batch, outputs)
        rows, parts = weight.tensor_split(world_size), y_grad.tensor_split(world_size, 1)
        given = [(x, mine, part.contiguous()) for mine, part in zip(rows, parts, strict=True)]
        expected = [[y_grad @ weight, part.T @ x] for part in parts]
        label = f"world_size {world_size}, batch {batch}, {inputs} inputs, {outputs} outputs"
        yield Case(world_size, given, expected, perturb, label)


# Diagnoses


def slips(case: Case) -> Mistakes:
    own = [(y_grad @ weight, y_grad.T @ x) for x, weight, y_grad in case.inputs]
    total, size = sum(x_grad for x_grad, _ in own), case.world_size
    yield (
        "returned its own addend of x_grad: every input fed the outputs of all ranks, so the addends are summed",
        [[x_grad, weight_grad] for x_grad, weight_grad in own],
    )
    yield "divided the sum by the number of ranks; a gradient is a sum", [[total / size, grad] for _, grad in own]
    if len({grad.shape for _, grad in own}) == 1:
        summed = sum(grad for _, grad in own)
        yield "summed weight_grad over the ranks; each rank's rows are its own", [[total, summed]] * size
    yield f"holds {size} times the sum: it was summed twice", [[size * total, grad] for _, grad in own]
    yield "returned weight_grad first; x_grad comes first", [[grad, total] for _, grad in own]
    yield "transposed weight_grad: it has the shape of the weight, [outputs, inputs]", [[total, g.T] for _, g in own]


# The exercise

EXERCISE = Exercise(
    id="04a",
    title="Cut by outputs, the way back",
    function="output_split_backward",
    points=5,
    answer="return",
    cases=layers,
    rules=all_reduced(lambda case: case.tensor.numel(), "only x_grad crosses, batch × inputs numbers"),
    diagnoses=(*FAILURES, given_nothing, mistaken(slips)),
    hints=(
        "Which outputs did an input feed, and on which ranks do they lie? So of how many addends is its gradient made?",
        "This rank's addend of x_grad is y_grad @ weight. weight_grad is y_grad.T @ x, and that is complete.",
        "x_grad = y_grad @ weight; all_reduce(comm, x_grad); return [x_grad, y_grad.T @ x].",
    ),
)
