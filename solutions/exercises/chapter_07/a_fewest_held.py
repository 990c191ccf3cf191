"""Exercise 07a: how many segments hold least, and what they recompute."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate
from math import ceil, sqrt

import numpy as np

from course_lib.checkpointing.plan import plan_cost, plan_peak
from course_lib.checkpointing.plans import segment_plan
from course_lib.grading.exercise import Case, Exercise
from course_lib.grading.exercises.chapter_07.shared import chain
from course_lib.grading.exercises.common import other_call

__all__ = ["EXERCISE"]


# Cases


def lengths(rng: np.random.Generator) -> Iterator[Case]:
    """Chains of some layers; several numbers of segments hold equally little."""
    calls = [(10,), (7,), (1,), (2,), (100,), *((int(length),) for length in rng.integers(11, 30_001, 5))]
    yield Case(1, calls, [_best(*call) for call in calls], label="the best number of segments")


def _best(layers: int) -> list[int]:
    """By the law, which the played plan confirms where it is short."""
    k = min(range(1, layers + 1), key=lambda k: k + layers // k)
    if layers <= 12:
        bounds = [0, *accumulate(layers // k + (number < layers % k) for number in range(k))]
        plan = segment_plan(bounds)
        assert _counts(layers, k)[1:] == [plan_peak(plan, chain(layers)), plan_cost(plan, chain(layers)) - layers]
    return _counts(layers, k)


def _counts(layers: int, k: int) -> list[int]:
    return [k, k + layers // k, layers - layers // k]


# Diagnoses


def reasons(layers: int) -> Iterator[tuple[str, object]]:
    k, peak, recomputed = _best(layers)
    every = range(1, layers + 1)
    longest_first = "The longer segments come first: when they go back, fewer inputs are held than for the last one"
    yield longest_first, _by_the_longest(layers)
    several = [other for other in every if other + layers // other == peak]
    yield "Several numbers hold as little: take the one that recomputes least", _counts(layers, several[-1])
    for root in (round(sqrt(layers)), int(sqrt(layers)), ceil(sqrt(layers))):
        yield "√n is near the best number, not always the best itself: try every k", _counts(layers, root)
    yield "The last segment is stored at once: its layers are not run again", [k, peak, layers]
    yield "The first run of each layer is not recomputed: count the second ones", [k, peak, layers + recomputed]
    yield "What a layer gives counts from the start: the last output is held as well", [k, peak - 1, recomputed]
    yield "First the number of segments, then the peak, then what is recomputed", [peak, k, recomputed]


def _by_the_longest(layers: int) -> list[int]:
    k = min(range(1, layers + 1), key=lambda k: k - (-layers // k))
    return [k, k - (-layers // k), layers - layers // k]


# The exercise

EXERCISE = Exercise(
    id="07a",
    title="Segments",
    function="fewest_held",
    points=4,
    cases=lengths,
    mode="function",
    answer="return",
    diagnoses=(other_call("fewest_held", reasons),),
    hints=(
        "When the last segment goes back, the inputs of all k segments are held. How many layers has that segment?",
        "The last segment has layers // k layers. Segments before it are longer by one at most, but hold one input "
        "less at least. So what is the peak?",
        "peak = k + layers // k, recomputed = layers - layers // k. Take the smallest k of those with the least peak.",
    ),
)
