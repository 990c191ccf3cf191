"""Exercise 08g: a training step that clips gradients that are still scaled, to be mended."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from course_lib.grading.exercise import Case, Outcome
from course_lib.grading.exercises.common import Reasons, function_exercise
from course_lib.grading.verdict import difference

__all__ = ["EXERCISE"]


TOLERANCE = 1e-6  # torch's clip_grad_norm_ adds 1e-6 to the norm


# Cases


def steps(rng: np.random.Generator) -> Iterator[Case]:
    """Gradients of a norm that is a whole number, scaled; below the limit, above it, and not finite."""
    calls: list[tuple[list[float], list[float], float, float, float]] = [
        ([10.0, 20.0], [24.0, 32.0], 8.0, 2.5, 1.0),
        ([10.0, 20.0], [24.0, 32.0], 8.0, 20.0, 1.0),
        ([10.0, 20.0], [24.0, 32.0], 8.0, 64.0, 1.0),
        ([1.0, 2.0], [math.inf, 8.0], 4.0, 1.0, 0.5),
        ([1.0, 2.0], [3.0, math.nan], 4.0, 1.0, 0.5),
        ([1.0, 2.0], [-math.inf, 8.0], 4.0, 1.0, 0.5),
    ]
    for scale in (2.0, 64.0, 1024.0):
        times = float(rng.integers(1, 5))
        gradients = [times * side for side in ((3.0, -4.0), (-6.0, 8.0), (2.0, 3.0, 6.0))[int(rng.integers(3))]]
        norm = math.sqrt(sum(gradient**2 for gradient in gradients))
        weights = [float(w) for w in rng.choice([-1, 1], len(gradients)) * rng.integers(50, 90, len(gradients))]
        for most in (norm / 2, 2 * norm):
            calls.append((weights, [scale * gradient for gradient in gradients], scale, most, 0.5))
    yield Case(1, calls, [_step(*call) for call in calls], label="steps of scaled gradients")


def _step(weights: Sequence[float], scaled: Sequence[float], scale: float, most: float, rate: float) -> list[float]:
    if not all(map(math.isfinite, scaled)):
        return list(weights)
    return _updated(weights, _clipped([gradient / scale for gradient in scaled], most), rate)


def _clipped(gradients: Sequence[float], most: float) -> list[float]:
    return _shortened(gradients, most, math.sqrt(sum(gradient**2 for gradient in gradients)))


def _shortened(gradients: Sequence[float], most: float, norm: float, to: float | None = None) -> list[float]:
    return [gradient * (to or most) / norm if norm > most else gradient for gradient in gradients]


def _updated(weights: Sequence[float], gradients: Sequence[float], rate: float) -> list[float]:
    return [weight - rate * gradient for weight, gradient in zip(weights, gradients, strict=True)]


# Diagnoses


def not_skipped(case: Case, outcome: Outcome) -> str | None:
    """Where a step that overflowed is the first to go wrong."""
    if outcome.failure is not None:
        return None
    for call, right, came in zip(case.inputs, case.expected, outcome.values, strict=True):
        if difference(right, came, TOLERANCE):
            if all(map(math.isfinite, call[1])):
                return None
            return (
                f"mended_step with the scaled gradients {call[1]} gave {came}. A gradient that overflowed: the step is "
                f"skipped, none of it may be used, and the old weights {list(call[0])} come back"
            )
    return None


def reasons(weights: Sequence[float], scaled: Sequence[float], scale: float, most: float, rate: float) -> Reasons:
    finite = [gradient if math.isfinite(gradient) else 0.0 for gradient in scaled]
    true, skipped = [gradient / scale for gradient in finite], finite != list(scaled)
    norm = math.hypot(*true)
    for text, gradients in (
        (
            "That is what it gave before: the norm of scaled gradients was held against the limit",
            [gradient / scale for gradient in _clipped(finite, most)],
        ),
        ("The gradients that reach the weights must be divided by the scale", _clipped(finite, most)),
        ("Divide by the scale once", [gradient / scale for gradient in _clipped(true, most)]),
        ("The limit holds for the norm of all gradients together", [max(-most, min(most, g)) for g in true]),
        ("Gradients longer than the limit are still clipped", true),
        ("The norm is the root of the sum of squares", _shortened(true, most, sum(g * g for g in true))),
        ("The norm is the root of the sum of squares", _shortened(true, most, sum(map(abs, true)))),
        ("What is shortened becomes as long as the limit, not as long as 1", _shortened(true, most, norm, 1.0)),
        ("Only gradients longer than the limit are shortened", [g * most / norm for g in true]),
        ("A step goes against the gradient", [-gradient for gradient in _clipped(true, most)]),
    ):
        yield text, list(weights) if skipped else _updated(weights, gradients, rate)


# The exercise

EXERCISE = function_exercise(
    id="08g",
    title="Find the bug",
    function="mended_step",
    points=4,
    cases=steps,
    tolerance=TOLERANCE,
    reasons=reasons,
    before=(not_skipped,),
    hints=(
        "Follow the example: what is the norm that is held against most_norm, and what is the gradient's own?",
        "Divide by the scale first. Then everything else sees true gradients.",
        "gradients = [g / scale for g in scaled]; if one is not finite, return weights; then clip, then update.",
    ),
)
