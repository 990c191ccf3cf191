"""Exercise 11e: when each batch is done, if some are loaded ahead."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate

import numpy as np

from course_lib.grading.exercise import Case
from course_lib.grading.exercises.common import Reasons, function_exercise

__all__ = ["EXERCISE"]


# Cases


def runs(rng: np.random.Generator) -> Iterator[Case]:
    """Loading that is always longer, always shorter, or now the one and now the other; one batch; a long wait."""
    calls: list[tuple[list[int], list[int], int]] = [
        ([2, 2, 2, 2], [3, 3, 3, 3], 1),
        ([4, 4, 4], [3, 3, 3], 1),
        ([1, 1, 1, 9, 1, 1], [4, 4, 4, 4, 4, 4], 1),
        ([1, 1, 1, 9, 1, 1], [4, 4, 4, 4, 4, 4], 3),
        ([1, 1, 1, 1, 1, 1, 20, 1], [6] * 8, 1),
        ([5], [7], 2),
    ]
    for depth in (1, 2, 4):
        calls.append((rng.integers(1, 12, 9).tolist(), rng.integers(1, 12, 9).tolist(), depth))
    yield Case(1, calls, [_ends(*call) for call in calls], label="nine runs")


def _ends(load_ms: Sequence[int], compute_ms: Sequence[int], depth: int) -> list[int]:
    """When each batch is computed; a place is freed when the compute of the batch that had it begins."""
    begins: list[int] = []
    ends: list[int] = []
    loaded = 0
    for number, (load, compute) in enumerate(zip(load_ms, compute_ms, strict=True)):
        loaded = max(loaded, begins[number - depth - 1] if number > depth else 0) + load
        begins.append(max(loaded, ends[-1] if ends else 0))
        ends.append(begins[-1] + compute)
    return ends


# Diagnoses


def reasons(load_ms: list[int], compute_ms: list[int], depth: int) -> Reasons:
    pairs = list(zip(load_ms, compute_ms, strict=True))
    in_turn = list(accumulate(load + compute for load, compute in pairs))
    yield "That loads a batch only when the one before is done: nothing is loaded ahead", in_turn
    yield "There are places for depth batches; that loads on and on", _ends(load_ms, compute_ms, len(load_ms))
    yield "The queue has depth places: that has one more", _ends(load_ms, compute_ms, depth + 1)
    yield (
        "A batch leaves its place when its compute begins, so loading i waits for the begin of compute i - depth - 1",
        _ends(load_ms, compute_ms, depth - 1),
    )
    steps = accumulate(max(load, compute) for load, compute in pairs)
    mean = "max(load, compute) is the mean step of many equal batches. Here each has its own times"
    yield mean, list(steps)
    yield mean, list(accumulate(map(max, [*load_ms[1:], 0], compute_ms), initial=load_ms[0]))[1:]
    alone = [loaded + compute for loaded, compute in zip(accumulate(load_ms), compute_ms, strict=True)]
    yield "The device computes one batch after the other", alone
    first = [load_ms[0] + max(sum(load_ms[1 : n + 1]), sum(compute_ms[:n])) + c for n, c in enumerate(compute_ms)]
    yield "Sums forget that one may wait for the other in between", first
    ends = _ends(load_ms, compute_ms, depth)
    begins = [e - c for e, c in zip(ends, compute_ms, strict=True)]
    yield "Those are the times at which the computes begin", begins
    frees = [0] * (depth + 1) + begins
    loaded = accumulate(zip(load_ms, frees, strict=False), lambda before, now: max(before, now[1]) + now[0], initial=0)
    yield "Those are the times at which the batches are loaded", list(loaded)[1:]
    yield "The time at which each batch is done, not only the last", ends[-1]


# The exercise

EXERCISE = function_exercise(
    id="11e",
    title="Loading ahead",
    function="step_ends",
    points=5,
    cases=runs,
    reasons=reasons,
    hints=(
        "Two clocks: when batch i is loaded, and when its compute ends. What does each wait for?",
        "The compute of i begins when i is loaded and the compute of i - 1 has ended. Keep these beginnings.",
        "Loading i begins when i - 1 is loaded and, if i > depth, the compute of i - depth - 1 has begun.",
    ),
)
