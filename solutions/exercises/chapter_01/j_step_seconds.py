"""Exercise 01j: the seconds of a step with and without overlap, by calculation."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate

import numpy as np

from course_lib.grading.exercise import Case
from course_lib.grading.exercises.common import Reasons, function_exercise

__all__ = ["EXERCISE"]

TOLERANCE = 1e-6  # seconds in float32 are right, too


# Cases


def timed_steps(rng: np.random.Generator) -> Iterator[Case]:
    """Seconds of the backward pass and of the exchange, layer by layer; the wire takes one exchange at a time."""
    fixed = [([4.0, 1.0, 3.0], [2.0, 7.0, 3.0]), ([5.0], [2.0]), ([1.0, 2.0, 4.0], [8.0, 1.0, 1.0])]
    fixed.append(([1.0, 9.0, 1.0, 1.0], [2.0, 1.0, 1.0, 9.0]))  # the wire is late by two, and then it waits
    drawn = [(rng.integers(1, 20, n).tolist(), rng.integers(1, 20, n).tolist()) for n in (4, 7, 12)]
    calls = fixed + [([float(b) for b in back], [float(e) for e in wire]) for back, wire in drawn]
    yield Case(1, calls, [_step_seconds(*call) for call in calls], label="the seconds of a step")


def _step_seconds(backward_s: list[float], exchange_s: list[float]) -> list[float]:
    """Event by event: whenever the wire is free, it takes the next gradient that is ready."""
    ready = list(accumulate(reversed(backward_s)))
    wire_free_s = 0.0
    for ready_s, seconds in zip(ready, reversed(exchange_s), strict=True):
        wire_free_s = max(wire_free_s, ready_s) + seconds
    return [ready[-1] + sum(exchange_s), wire_free_s]


# Diagnoses


def reasons(backward_s: list[float], exchange_s: list[float]) -> Reasons:
    """Plausible mistakes: those without overlap, then those with it."""
    plain, overlapped = _step_seconds(backward_s, exchange_s)
    compute, wire = sum(backward_s), sum(exchange_s)
    yield "You gave them in the other order: first without overlap, then with it", [overlapped, plain]
    longer = max(compute, wire)
    yield "That is with overlap at its best; here the wire waits for the backward pass", [longer, overlapped]
    yield "The exchanges come on top", [compute, overlapped]
    for text, seconds in _with_overlap(backward_s, exchange_s):
        yield text, [plain, seconds]
    yield "Nothing overlaps in that", [plain, plain]
    yield "That is what overlap saves; asked for are the seconds with it", [plain, plain - overlapped]


def _with_overlap(backward_s: list[float], exchange_s: list[float]) -> Reasons:
    compute, wire = sum(backward_s), sum(exchange_s)
    ready = list(accumulate(reversed(backward_s)))
    yield (
        "That is the longer of the two, but the wire has nothing to do before the first gradient",
        max(compute, wire),
    )
    yield "That is the backward pass and the last exchange; the wire may still be busy", compute + exchange_s[0]
    yield (
        "The lists run from the first layer to the last, the backward pass from the last to the first",
        _step_seconds(backward_s[::-1], exchange_s[::-1])[1],
    )
    yield (
        "The wire takes one exchange at a time, yours run beside each other",
        max(map(sum, zip(ready, reversed(exchange_s), strict=True))),
    )
    yield "The wire in yours never waits for a gradient, once it has the first", backward_s[-1] + wire
    yield (
        "With you a layer waits for the exchange before it, and no longer; the wire may be late by several",
        backward_s[-1] + sum(map(max, backward_s, exchange_s[1:])) + exchange_s[0],
    )
    yield (
        "A layer's exchange overlaps with its own backward pass in yours; it starts after that",
        sum(map(max, backward_s, exchange_s)),
    )


# The exercise

EXERCISE = function_exercise(
    id="01j",
    title="What overlap buys",
    function="step_seconds",
    points=3,
    cases=timed_steps,
    tolerance=TOLERANCE,
    reasons=reasons,
    hints=(
        "Draw two rows, compute and wire, and go through the layers in the order of the backward pass: the last first.",
        "An exchange starts when two things are true: its gradient is ready, and the wire is free.",
        "Keep two clocks: ready += backward of this layer; free = max(free, ready) + exchange of this layer.",
    ),
)
