"""Exercise 04e: the halo exchange in front of a convolution with any stride and padding."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch

from course_lib.grading import rules
from course_lib.grading.exercise import Case, Exercise, Outcome
from course_lib.grading.exercises.common import FAILURES, Mistakes, matrix, mistaken
from course_lib.model_parallel.regions import RowKernel, Rows, halo_plan, needed_rows, owned_rows

__all__ = ["EXERCISE"]


# Cases

SHAPES = (  # ranks, rows, kernel, stride, padding, trials with a changed message
    (1, 5, 3, 1, 0, 0),
    (2, 8, 3, 1, 1, 1),
    (2, 8, 3, 2, 1, 0),
    (2, 9, 2, 3, 0, 0),  # with a row that nobody needs, not even the rank that has it
    (3, 11, 5, 2, 2, 1),
    (3, 7, 3, 1, 0, 0),
    (4, 6, 5, 1, 2, 0),  # a halo of two rows, where neighbors have one or two
)


def pictures(rng: np.random.Generator) -> Iterator[Case]:
    """Every rank has its rows, and gets all rows that its part of the output is made of, zeros where padding is."""
    for world_size, height, size, stride, padding, perturb in SHAPES:
        picture, kernel = matrix(rng, height, 6), RowKernel(size, stride, padding)
        padded = torch.nn.functional.pad(picture, (0, 0, padding, padding))
        outputs = owned_rows(kernel.output_height(height), world_size)
        needs = [needed_rows(output, kernel) for output in outputs]
        expected = [padded[rows.start + padding : rows.stop + padding] for rows in needs]
        inputs = [(picture[slice(*rows)], height, size, stride, padding) for rows in owned_rows(height, world_size)]
        label = f"{world_size} ranks, {height} rows, kernel {size}, stride {stride}, padding {padding}"
        about = {"kernel": kernel, "height": height, "picture": picture, "needs": needs}
        yield Case(world_size, inputs, expected, perturb, label, about)


# Rules


def needed_bytes(case: Case) -> float:
    plan = halo_plan(case.about["height"], case.about["kernel"], case.world_size)
    return sum(transfer.rows.number for transfer in plan) * 6 * 4


# Diagnoses


def more_than_needed(case: Case, outcome: Outcome) -> str | None:
    """An exception where a rank has rows of which its own output is not made."""
    failure, owned = outcome.failure, owned_rows(case.about["height"], case.world_size)
    pairs = zip(owned, case.about["needs"], strict=True)
    if failure is None or failure.kind != "exception" or all(has.overlap(needs) == has for has, needs in pairs):
        return None
    return f"here a rank has rows that it does not need itself: it keeps of its own what it needs. {failure.text}"


def slips(case: Case) -> Mistakes:
    picture, needs, padding = case.about["picture"], case.about["needs"], case.about["kernel"].padding
    height, owned = case.about["height"], owned_rows(case.about["height"], case.world_size)
    wide = [Rows(min(rows.start, has.start), max(rows.stop, has.stop)) for rows, has in zip(needs, owned, strict=True)]
    yield (
        "kept rows of its own that its part of the output is not made of: kernel and stride decide what it needs",
        [_with_zeros(picture, rows, Rows(0, height)) for rows in wide],
    )
    yield "has its own rows and nothing more: where is the halo?", [inputs[0] for inputs in case.inputs]
    inside = [picture[max(0, rows.start) : min(height, rows.stop)] for rows in needs]
    yield "has no rows of zeros where the picture ends: padding is part of what the kernel sees", inside
    ends = [padding, *[1] * (case.world_size - 1), padding]
    traded = [Rows(has.start - ends[rank], has.stop + ends[rank + 1]) for rank, has in enumerate(owned)]
    yield (
        "has a row of each neighbor, needed or not: how many it needs on each side, kernel and stride decide",
        [_with_zeros(picture, rows, Rows(0, height)) for rows in traded],
    )
    own = [_with_zeros(picture, rows, has) for rows, has in zip(needs, owned, strict=True)]
    yield "has zeros where its neighbors' rows belong", own
    near = [
        Rows(owned[max(0, rank - 1)].start, owned[min(rank + 1, len(owned) - 1)].stop) for rank in range(len(owned))
    ]
    yield (
        "has zeros where rows of a rank further away belong: a halo may be larger than a neighbor's part",
        [_with_zeros(picture, rows, known) for rows, known in zip(needs, near, strict=True)],
    )
    if padding:
        late = [
            _with_zeros(picture, Rows(rows.start + padding, rows.stop + padding), Rows(0, height)) for rows in needs
        ]
        yield "begins too late: padding moves the first row up, to start × stride - padding", late


def _with_zeros(picture: torch.Tensor, rows: Rows, known: Rows) -> torch.Tensor:
    """The rows of a picture of which only those in `known` are known."""
    made, shared = picture.new_zeros(rows.number, picture.shape[1]), rows.overlap(known)
    made[shared.start - rows.start : shared.stop - rows.start] = picture[shared.start : shared.stop]
    return made


# The exercise

EXERCISE = Exercise(
    id="04e",
    title="Halo exchange",
    function="halo_rows",
    points=6,
    answer="return",
    cases=pictures,
    rules=(
        rules.total_bytes(needed_bytes, "no row crosses that its receiver does not need"),
        rules.most_messages(lambda case: 2 * case.world_size * (case.world_size - 1)),
    ),
    diagnoses=(*FAILURES, more_than_needed, mistaken(slips)),
    perturbation="receiver",
    hints=(
        "Write down, for each rank, the rows that it has and the rows that it needs. What crosses is where the rows "
        "that one needs overlap those that another has.",
        "`owned` and `needed` tell both for all ranks. A sends to B from max(first row that B needs, first row of A) "
        "to min(end of what B needs, end of A), if that is not empty.",
        "Begin with zeros for all rows that you need; copy your own in; for each other rank, isend what it needs of "
        "yours, and receive what you need of its rows into its place.",
    ),
)
