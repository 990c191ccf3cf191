"""Exercise 08c: what becomes of gradients in fp16 under a loss scale, and the scale that is best."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from course_lib.grading.exercise import Case
from course_lib.grading.exercises.common import Reasons, function_exercise
from course_lib.precision.formats import FP16

__all__ = ["EXERCISE"]


# Cases


def gradients(rng: np.random.Generator) -> Iterator[Case]:
    """Gradients over many powers of two, zeros among them, and scales; some come just to an edge of fp16."""
    edge = [2.0**-25, 1.5 * 2.0**-25, -(2.0**-26), 0.0, 65519.0, 65520.0, -65536.0]
    calls = [([2.0**-30, 0.0, -3 * 2.0**-24, 1.0], 1), ([2.0**-30, 0.0, -3 * 2.0**-24, 1.0], 2**16), (edge, 1)]
    for scale in (1, 8, 1024, 2**16, 2**24):
        powers = rng.integers(-36, 2, int(rng.integers(5, 12)))
        drawn = [float(rng.choice([-1, 1])) * float(rng.integers(4, 8)) * 2.0 ** int(power) for power in powers]
        calls.append(([*drawn, 0.0], scale))
    yield Case(1, calls, [_fates(*call) for call in calls], label="gradients and loss scales")


def _fates(gradients: Sequence[float], scale: float, smallest: float = 2.0**-25, zeros: int = 0) -> list[int]:
    """[lost, kept, overflowed] where what is at most `smallest` goes to zero."""
    scaled = [abs(gradient * scale) for gradient in gradients if gradient]
    lost, infinite = sum(x <= smallest for x in scaled), sum(x >= 65520 for x in scaled)
    return [lost + zeros, len(scaled) - lost - infinite, infinite]


# Diagnoses


def reasons(gradients: Sequence[float], scale: float) -> Reasons:
    call = gradients, scale
    yield "A gradient that was zero before is not lost: leave it out", _fates(*call, zeros=list(gradients).count(0.0))
    yield "The loss scale multiplies every gradient first", _fates(gradients, 1)
    yield "Subnormal numbers are kept: fp16 goes down to 2^-24", _fates(*call, smallest=2.0**-14 * (1 - 2**-11))
    yield "What is nearer to 2^-24 than to 0 is rounded up to it", _fates(*call, smallest=2.0**-24 * (1 - 2**-11))
    yield "Exactly halfway, 2^-25 goes to the even one: zero", _fates(*call, smallest=2.0**-25 * (1 - 2**-11))
    scaled = [FP16.round(x * scale).item() for x in gradients if x]
    small, large = sum(x == 0 for x in scaled), sum(abs(x) > 65504 for x in scaled)
    positive = sum(x > 65504 for x in scaled)
    yield "Negative gradients overflow too: look at magnitudes", [small, len(scaled) - small - positive, positive]
    kept = len(scaled) - small - large
    for order in ([large, kept, small], [kept, small, large]):
        yield "In the order lost, kept, overflowed", order
    zeros = list(gradients).count(0.0)
    yield "A gradient that was zero before is not counted at all: it is not kept either", [small, kept + zeros, large]
    yield "The scale multiplies the gradients; they are divided by it later", _fates(gradients, 1 / scale)
    yield "Round each product with fp16 before you look at it", [0, len(scaled), 0]
    yield "Asked for are counts, not shares", [count / len(gradients) for count in (small, kept, large)]
    late = sum(abs(x * scale) > 65504 for x in gradients if x)
    few = sum(0 < abs(x * scale) < 2.0**-24 for x in gradients)
    both = [few, len(scaled) - few - late, late]
    yield "Values are rounded: those above 2^-25 up to 2^-24, those below 65520 down to 65504", both
    yield "From 65504 to below 65520 the nearest number is 65504", [small, len(scaled) - small - late, late]


# The exercise

EXERCISE = function_exercise(
    id="08c",
    title="What survives a scale",
    function="fates",
    points=4,
    cases=gradients,
    reasons=reasons,
    hints=(
        "Multiply by the scale, round with fp16, and look: zero, infinite, or neither.",
        "A gradient that is zero before anything happens belongs to none of the three.",
        "lost: fp16(g * scale) == 0 and g != 0; overflowed: abs(...) == math.inf; kept: all others that are not 0.",
    ),
)
