"""Exercise 09a: what a matrix takes as a Tucker decomposition and as a tensor train."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

import numpy as np

from course_lib.decomposition import tt_matrix_numbers, tucker_numbers
from course_lib.grading.exercise import Case
from course_lib.grading.exercises.common import Reasons, function_exercise

__all__ = ["EXERCISE"]


# Cases


def matrices(rng: np.random.Generator) -> Iterator[Case]:
    """Row modes, column modes and a rank: from one mode to six, and the layer of the page."""
    page = [([2, 3, 2], [5, 2, 2], 2), ([4, 4, 4, 4, 4, 4], [2, 7, 8, 8, 7, 4], 2)]
    calls = page + [_drawn(rng, modes) for modes in (1, 2, 3, 4, 5)]
    yield Case(1, calls, [_stored(*call) for call in calls], label="matrices of one mode to six")


def _drawn(rng: np.random.Generator, modes: int) -> tuple[list[int], list[int], int]:
    """Where no style of rounding matters: the quotient is not halfway between two whole numbers."""
    while True:
        rows, columns = (rng.integers(2, 10, modes).tolist() for _ in range(2))
        rank = int(rng.integers(2 + (modes == 1), 6))  # of one mode, 2 rank numbers differ from rank squared
        train = tt_matrix_numbers(rows, columns, rank)
        if 2 * prod(rows + columns) % (2 * train) != train:
            return rows, columns, rank


def _stored(rows: Sequence[int], columns: Sequence[int], rank: int) -> list[int]:
    modes = [m * n for m, n in zip(rows, columns, strict=True)]
    train = tt_matrix_numbers(rows, columns, rank)
    return [tucker_numbers(modes, [rank] * len(modes)), train, round(prod(modes) / train)]


# Diagnoses


def reasons(rows: Sequence[int], columns: Sequence[int], rank: int) -> Reasons:
    tucker, train, times = _stored(rows, columns, rank)
    modes, sums = ([operation(pair) for pair in zip(rows, columns, strict=True)] for operation in (prod, sum))
    d, factors, dense = len(modes), sum(modes) * rank, prod(modes)
    ends = [1, *[rank] * (d - 1), 1]
    sides = "A core has a rank on each side: r · m · n · r numbers"
    yield "Tucker's core has r^d numbers: the d is an exponent", [d * rank + factors, train, times]
    yield "Tucker has a factor for each mode beside its core", [rank**d, train, times]
    yield "Tucker has a core beside its factors: r^d numbers", [factors, train, times]
    for text, other in (
        ("The first rank of a train and the last are 1, also of a TT-matrix", rank * rank * sum(modes)),
        (sides, rank * sum(modes)),
        (sides, sum(r * n for r, n in zip(ends, modes, strict=False))),
    ):
        yield text, [tucker, other, round(dense / other)]
    if d == 1:
        open_ended = 2 * rank * dense
        yield "A single core has no neighbor, so both its ranks are 1", [tucker, open_ended, round(dense / open_ended)]
    added = sum(r * s * n for r, s, n in zip(ends, ends[1:], sums, strict=False))
    pairs = "A row digit and a column digit together have m · n values, not m + n"
    yield pairs, [rank**d + sum(sums) * rank, added, round(dense / added)]
    yield pairs, [tucker, added, round(dense / added)]
    yield "Round the last number to the nearest whole one: `//` rounds down", [tucker, train, dense // train]
    yield "Round the last number to a whole one", [tucker, train, dense / train]
    yield "The last number compares the matrix with the tensor train", [tucker, train, round(dense / tucker)]
    yield "The last number says how many times *fewer*: the matrix over the train", [tucker, train, train / dense]
    yield "Tucker comes first, then the train", [train, tucker, times]


# The exercise

EXERCISE = function_exercise(
    id="09a",
    title="What is stored",
    function="numbers_stored",
    points=4,
    cases=matrices,
    reasons=reasons,
    hints=(
        "Digit k of the row and digit k of the column make one mode of m_k · n_k values: a tensor of d modes.",
        "Tucker: a core of r · r · … · r, d times, and a factor of m_k n_k × r for each mode. Train: a core of "
        "r_(k-1) × m_k × n_k × r_k for each mode, with r_0 = r_d = 1.",
        "ranks = [1] + [r] * (d - 1) + [1]; train = sum(ranks[k] * m[k] * n[k] * ranks[k + 1] for k in range(d)).",
    ),
)
