"""Exercise 05a: what g and f hand back."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch

from course_lib.grading.exercise import Case, Exercise
from course_lib.grading.exercises.common import FAILURES, Mistakes, all_reduced, given_nothing, matrix, mistaken

__all__ = ["EXERCISE"]


# Cases

# ranks, batch, width, trials with a changed message
SHAPES = ((1, 2, 3, 0), (2, 2, 4, 0), (3, 3, 4, 1), (4, 2, 5, 1))


def gradients(rng: np.random.Generator) -> Iterator[Case]:
    """The gradient that comes into g is the same everywhere; that which comes into f is each rank's own addend."""
    for world_size, batch, width, perturb in SHAPES:
        whole, own = matrix(rng, batch, width), [matrix(rng, batch, width) for _ in range(world_size)]
        expected = [[whole, torch.stack(own).sum(0)]] * world_size
        label = f"world_size {world_size}, batch {batch}, width {width}"
        yield Case(world_size, [(whole, addend) for addend in own], expected, perturb, label)


# Diagnoses


def slips(case: Case) -> Mistakes:
    size, whole, own = case.world_size, case.inputs[0][0], [addend for _, addend in case.inputs]
    total = torch.stack(own).sum(0)
    yield (
        "summed the gradient of g, too: every rank holds all of it already, and now it is there "
        f"{size} times. That is what autograd through an all-reduce would do",
        [[size * whole, total]] * size,
    )
    yield (
        "returned its own addend for f: x went into every rank, so its gradient is the sum over them",
        [[whole, addend] for addend in own],
    )
    yield "divided the gradient of f by the number of ranks; a gradient is a sum", [[whole, total / size]] * size
    yield f"holds {size} times the sum of f's gradients: it was summed twice", [[whole, size * total]] * size
    yield "returned f's gradient first; g's comes first", [[total, whole]] * size
    yield "divided the gradient of g by the number of ranks; g hands back what it got", [[whole / size, total]] * size
    turned = [[size * whole, addend] for addend in own]
    yield "has the two exchanged: g sums on the way forward, f on the way back", turned


# The exercise

EXERCISE = Exercise(
    id="05a",
    title="The way back through g and f",
    function="operators_backward",
    points=3,
    answer="return",
    cases=gradients,
    rules=all_reduced(lambda case: case.tensor.numel(), "one of the two gradients needs an all-reduce, one needs none"),
    diagnoses=(*FAILURES, given_nothing, mistaken(slips)),
    hints=(
        "f copies on the way forward, g sums. If y = a + b, what is the gradient of a? If x is used twice, what is "
        "the gradient of x?",
        "g hands back what it got. f hands back the sum of what all ranks got.",
        "all_reduce(comm, f_grad); return [g_grad, f_grad].",
    ),
)
