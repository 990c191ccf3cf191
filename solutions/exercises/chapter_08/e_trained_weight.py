"""Exercise 08e: a weight that takes small updates, with a master copy and without."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from course_lib.grading.exercise import Case
from course_lib.grading.exercises.common import Reasons, function_exercise
from course_lib.precision.formats import FP16

__all__ = ["EXERCISE"]


# Cases


def trainings(rng: np.random.Generator) -> Iterator[Case]:
    """Weights and updates whose sums are exact in fp32: updates that fp16 swallows, keeps, and rounds."""
    calls: list[tuple[float, list[float]]] = [
        (1.0, [2.0**-11] * 4),
        (1.0, [2.0**-12] * 3),
        (2048.0, [1.0] * 5),
        (0.5, [2.0**-10, -(2.0**-11)]),
        (-0.5, [0.5, 2.0**-12]),
    ]
    for _ in range(4):
        power = int(rng.integers(-3, 4))
        steps = rng.integers(-6, 7, int(rng.integers(6, 12))) * 2.0 ** (power - 12)
        weight = float(rng.integers(4, 8)) * 2.0 ** (power - 2)
        calls.append((weight, [float(step) for step in steps] + [3 * 2.0 ** (power - 13)] * 7))
    yield Case(1, calls, [_trained(*call) for call in calls], label="weights and their updates")


def _fp16(x: float) -> float:
    return FP16.round(x).item()


def _trained(weight: float, updates: Sequence[float]) -> list[float]:
    rounded = weight
    for update in updates:
        rounded = _fp16(rounded + update)
    return [rounded, _fp16(weight + sum(updates))]


# Diagnoses


def reasons(weight: float, updates: Sequence[float]) -> Reasons:
    plain, kept = _trained(weight, updates)
    yield "First without the master copy, then with it", [kept, plain]
    yield "The master copy is fp32, but what the network uses of it is rounded to fp16", [plain, weight + sum(updates)]
    once = _fp16(weight + sum(map(_fp16, updates)))
    yield "Without a master copy the weight is rounded after every update", [once, kept]
    yield "The master copy is not rounded between updates; that is the point of it", [plain, plain]
    gathered = _fp16(weight + _fp16(sum(updates)))
    yield "The master copy is a weight in fp32; sums of updates are not rounded either", [plain, gathered]
    late = weight
    for update in updates:
        late = _fp16(late) + update
    yield "Round the sum after an update is added, not the weight before it", [late, kept]
    yield "An update is added", [_trained(weight, [-update for update in updates])[0], kept]
    yield "Without a master copy the weight is rounded to fp16 after every update", [weight + sum(updates), kept]
    minus = _trained(weight, [-update for update in updates])
    yield "An update is added, not taken away", minus


# The exercise

EXERCISE = function_exercise(
    id="08e",
    title="The update that vanishes",
    function="trained_weight",
    points=3,
    cases=trainings,
    reasons=reasons,
    hints=(
        "Two weights begin equal. Both take the same updates; one is rounded each time, one at the very end.",
        "Plain Python numbers are exact here, so they can play fp32; fp16(x) rounds.",
        "plain = fp16(plain + update) in the loop; master = master + update in the loop; return [plain, fp16(master)].",
    ),
)
