"""Exercise 09b: one element of a tensor train."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

import numpy as np
import torch

from course_lib.decomposition import TensorTrain
from course_lib.grading.exercise import Case, Outcome
from course_lib.grading.exercises.chapter_09.shared import HUGE, draw_cores, numbers, too_large
from course_lib.grading.exercises.common import Reasons, function_exercise

__all__ = ["EXERCISE"]


# Cases

FORMS: dict[str, tuple] = {  # modes and ranks
    "modes alike": (((2, 2), (2,)), ((3, 3, 3), (3, 3)), ((3, 3, 3, 3), (2, 2, 2))),
    "unequal modes and ranks": (((5,), ()), ((2, 5, 3), (3, 2)), ((4, 2, 5, 3), (2, 4, 3)), ((3,) * 12, (2,) * 11)),
    "80 billion elements": ((HUGE, (2, 2)),),
}


def trains(rng: np.random.Generator) -> Iterator[Case]:
    """Trains with modes and ranks alike; with unequal ones; of twelve modes; and one whose tensor nobody can hold."""
    for label, forms in FORMS.items():
        calls = []
        for modes, ranks in forms:
            most = 1 if len(modes) > 5 else 5
            calls.append((draw_cores(rng, modes, ranks, most), [int(rng.integers(n)) for n in modes]))
        yield Case(1, calls, [numbers(_element(*call)) for call in calls], label=label)


def _element(cores: Sequence[torch.Tensor], index: Sequence[int]) -> float:
    return TensorTrain(tuple(cores)).element(index).item()


# Diagnoses


def other_side(case: Case, outcome: Outcome) -> str | None:
    """Matrices that do not fit, or an index beyond a side."""
    failure = outcome.failure
    if failure is None or failure.cause not in ("RuntimeError", "IndexError") or "alloc" in failure.text.lower():
        return None
    return f"A core is r × n × r', and its matrix for the index i is core[:, i], r × r'. {failure.text}"


def reasons(cores: Sequence[torch.Tensor], index: Sequence[int]) -> Reasons:
    slices = [core[:, place] for core, place in zip(cores, index, strict=True)]
    yield "Indices count from 0", numbers(_element(cores, [place - 1 for place in index]))
    sums = [part.sum().item() for part in slices]
    yield "A product of matrices is not the product of the sums of their numbers", numbers(prod(sums))
    turned = [place % core.shape[1] for core, place in zip(cores, reversed(index), strict=True)]
    yield "The first index belongs to the first core", numbers(_element(cores, turned))
    yield "Multiply the matrices, do not add them up", numbers(sum(sums))


# The exercise

EXERCISE = function_exercise(
    id="09b",
    title="One element",
    function="element",
    points=3,
    cases=trains,
    reasons=reasons,
    before=(
        too_large("An element needs one matrix of each core; the table with all elements fits into no memory"),
        other_side,
    ),
    hints=(
        "Of each core one matrix is needed: which?",
        "core[:, i] is the matrix of index i, r × r'. The first is a row, the last a column.",
        "row = cores[0][:, index[0]]; for the others row = row @ core[:, i]; return row.item().",
    ),
)
