"""Exercise 09b: one element of a tensor train."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

import numpy as np
import torch

from course_lib.decomposition import TensorTrain
from course_lib.grading.exercise import Case, Exercise, Outcome
from course_lib.grading.exercises.chapter_09.shared import HUGE, draw_cores, numbers, told, too_large
from course_lib.grading.exercises.common import Reasons, other_call

__all__ = ["EXERCISE"]


# Cases


def trains(rng: np.random.Generator) -> Iterator[Case]:
    """Trains with modes and ranks alike; with unequal ones; of twelve modes; and one whose tensor nobody can hold."""
    yield _case(rng, [((2, 2), (2,)), ((3, 3, 3), (3, 3)), ((3, 3, 3, 3), (2, 2, 2))], label="modes alike")
    unequal = [((5,), ()), ((2, 5, 3), (3, 2)), ((4, 2, 5, 3), (2, 4, 3)), ((3,) * 12, (2,) * 11)]
    yield _case(rng, unequal, label="unequal modes and ranks")
    yield _case(rng, [(HUGE, (2, 2))], label="80 billion elements", huge=True)


def _case(rng: np.random.Generator, forms: Sequence[tuple], label: str, huge: bool = False) -> Case:
    calls = []
    for modes, ranks in forms:
        most = 1 if len(modes) > 5 else 5
        calls.append((draw_cores(rng, modes, ranks, most), [int(rng.integers(n)) for n in modes]))
    return Case(1, calls, [numbers(_element(*call)) for call in calls], label=label, about={"huge": huge})


def _element(cores: Sequence[torch.Tensor], index: Sequence[int]) -> float:
    return TensorTrain(tuple(cores)).element(index).item()


# Diagnoses


def other_side(case: Case, outcome: Outcome) -> str | None:
    """Matrices that do not fit, or an index beyond a side."""
    failure = outcome.failure
    if failure is None or failure.cause not in ("RuntimeError", "IndexError") or "alloc" in failure.text.lower():
        return None
    return f"A core is r × n × r', and its matrix for the index i is core[:, i], r × r'. {told(failure)}"


def reasons(cores: Sequence[torch.Tensor], index: Sequence[int]) -> Reasons:
    slices = [core[:, place] for core, place in zip(cores, index, strict=True)]
    yield "Indices count from 0", numbers(_element(cores, [place - 1 for place in index]))
    sums = [part.sum().item() for part in slices]
    yield "A product of matrices is not the product of the sums of their numbers", numbers(prod(sums))
    yield "The first index belongs to the first core", numbers(_turned(cores, index))
    yield "Multiply the matrices, do not add them up", numbers(sum(sums))


def _turned(cores: Sequence[torch.Tensor], index: Sequence[int]) -> float:
    """With the indices from behind, where that is possible."""
    places = [place % core.shape[1] for core, place in zip(cores, reversed(index), strict=True)]
    return _element(cores, places)


# The exercise

EXERCISE = Exercise(
    id="09b",
    title="One element",
    function="element",
    points=3,
    cases=trains,
    mode="function",
    answer="return",
    diagnoses=(
        too_large(0, "An element needs one matrix of each core; the table with all elements fits into no memory"),
        other_side,
        other_call("element", reasons),
    ),
    hints=(
        "Of each core one matrix is needed: which?",
        "core[:, i] is the matrix of index i, r × r'. The first is a row, the last a column.",
        "row = cores[0][:, index[0]]; for the others row = row @ core[:, i]; return row.item().",
    ),
)
