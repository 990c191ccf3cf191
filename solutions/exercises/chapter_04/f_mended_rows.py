"""Exercise 04f: a halo that is too short, to be mended."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from course_lib.grading.exercise import Case
from course_lib.grading.exercises.common import function_exercise
from course_lib.model_parallel.regions import RowKernel, Rows, needed_rows

__all__ = ["EXERCISE"]


# Cases


def kernels(rng: np.random.Generator) -> Iterator[Case]:
    """Output rows, kernel, stride, padding, dilation."""
    calls = [(0, 4, 3, 1, 1, 1), (4, 8, 3, 1, 1, 2), (2, 5, 5, 2, 2, 3)]
    for _ in range(4):
        start = int(rng.integers(0, 50))
        kernel = (int(rng.integers(2, 8)), int(rng.integers(1, 4)), int(rng.integers(0, 4)), int(rng.integers(2, 5)))
        calls.append((start, start + int(rng.integers(1, 9)), *kernel))
    expected = [list(needed_rows(Rows(*call[:2]), RowKernel(*call[2:]))) for call in calls]
    yield Case(1, calls, expected, label="the rows that are needed")


# Diagnoses


def reasons(
    start: int, stop: int, size: int, stride: int, padding: int, dilation: int
) -> Iterator[tuple[str, list[int]]]:
    first, last = start * stride - padding, (stop - 1) * stride - padding
    yield "That is what it gave before: try dilation 2", [first, last + size]
    yield "A kernel of 3 with dilation 2 spans 5 rows, not 6: the last gap is none", [first, last + size * dilation]
    reach = dilation * (size - 1) + 1
    yield "Each of the kernel's gaps grows, not one of them", [first, last + size + dilation - 1]
    yield "Dilation may be more than 2", [first, last + (2 * size - 1 if dilation > 1 else size)]
    yield (
        "Rows `start` to `stop` do not hold `stop`: the last output row is stop - 1",
        [first, stop * stride - padding + reach],
    )
    yield "Asked for is the row after the last one that is needed, not that row itself", [first, last + reach - 1]
    yield "Rows beyond the picture are not cut off here", [max(0, first), last + reach]
    yield (
        "Padding is counted in rows: dilation does not spread it",
        [start * stride - padding * dilation, last + padding - padding * dilation + reach],
    )
    yield "Dilation spreads the kernel; it does not move where it begins", [first * dilation, last * dilation + reach]


# The exercise

EXERCISE = function_exercise(
    id="04f",
    title="Find the bug",
    function="mended_rows",
    points=2,
    cases=kernels,
    reasons=reasons,
    hints=(
        "With dilation 1 the function is right. Draw a kernel of 3 with dilation 2: which rows does it touch?",
        "A kernel of `size` rows has size - 1 gaps, and each is `dilation` rows wide.",
        "From the first row to the last one it touches: dilation * (size - 1) + 1 rows.",
    ),
)
