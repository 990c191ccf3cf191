"""Exercise 09f: the mean of the cores' gradients, in one row of numbers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch

from course_lib.grading import rules
from course_lib.grading.exercise import Case, Exercise
from course_lib.grading.exercises.chapter_09.shared import draw_cores
from course_lib.grading.exercises.common import FAILURES, Mistakes, given_nothing, mistaken

__all__ = ["EXERCISE"]


# Cases

# ranks, (row mode, column mode) of each core, rank between the cores, trials with a changed message
SHAPES = (
    (1, ((2, 3), (3, 2), (2, 2)), 2, 0),
    (2, ((2, 3), (3, 2), (1, 4), (2, 2), (1, 3)), 2, 0),
    (3, ((2, 2), (3, 1), (1, 4), (2, 2), (3, 2)), 3, 1),
    (4, ((1, 3), (2, 3), (2, 2), (4, 1), (1, 2), (3, 1), (2, 1)), 2, 1),
    (5, ((2, 2), (1, 3), (2, 2), (3, 1), (1, 2), (2, 1), (2, 2), (1, 3)), 2, 0),
)


def gradients(rng: np.random.Generator) -> Iterator[Case]:
    """Whole multiples of the number of ranks, so that means are whole numbers, too."""
    for size, modes, rank, perturb in SHAPES:
        ranks = [rank] * (len(modes) - 1)
        own = [[size * core for core in draw_cores(rng, modes, ranks, most=99)] for _ in range(size)]
        means = [torch.stack(cores).sum(0) / size for cores in zip(*own, strict=True)]
        label = f"world_size {size}, {len(modes)} cores"
        inputs = [(cores,) for cores in own]
        yield Case(size, inputs, [means] * size, perturb, label, {"numbers": sum(core.numel() for core in means)})


# Diagnoses


def slips(case: Case) -> Mistakes:
    size, own = case.world_size, [cores for (cores,) in case.inputs]
    means = case.expected[0]
    yield "has the sum; asked for is the mean: divide by comm.world_size", [[size * mean for mean in means]] * size
    by_cores = [size * mean / len(means) for mean in means]
    yield "divided by the number of cores; divide by that of ranks", [by_cores] * size
    yield "still has its own gradients: write the means into `gradients`, with copy_(...)", own
    row = torch.cat([mean.reshape(-1) for mean in means])
    beginnings = [row[: mean.numel()].reshape(mean.shape) for mean in means]
    yield "has the beginning of the row in every core: go on where the core before ended", [beginnings] * size
    parts = reversed(row.split([mean.numel() for mean in reversed(means)]))
    turned = [part.reshape(mean.shape) for part, mean in zip(parts, means, strict=True)]
    yield "took the cores out of the row in another order than they went in", [turned] * size
    first_only = [[means[0], *cores[1:]] for cores in own]
    yield "has the mean in its first core only; the other cores still hold its own gradients", first_only
    yield "divided twice: by the number of ranks, once", [[mean / size for mean in means]] * size


# The exercise

EXERCISE = Exercise(
    id="09f",
    title="Gradients of cores on the wire",
    function="average_cores",
    points=5,
    cases=gradients,
    rules=(
        rules.total_bytes(
            lambda case: 8 * (case.world_size - 1) * -(-case.about["numbers"] // case.world_size) * case.world_size,
            "2(p − 1) times the cores' numbers, without padding",
        ),
        rules.most_messages(
            lambda case: 2 * case.world_size * (case.world_size - 1),
            "join the cores' gradients to one row, and reduce that once",
        ),
    ),
    diagnoses=(*FAILURES, given_nothing, mistaken(slips)),
    whole_multiples=False,  # of a mean
    hints=(
        "One all-reduce of a long row in place of many of short ones. torch.cat joins tensors of one dimension.",
        "row = torch.cat([g.reshape(-1) for g in gradients]); all_reduce(comm, row); row /= comm.world_size.",
        "Then cut it again: row.split([g.numel() for g in gradients]), and g.copy_(part.reshape(g.shape)) for each.",
    ),
)
