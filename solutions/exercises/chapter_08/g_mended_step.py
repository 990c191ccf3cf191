"""Exercise 08g: a training step that clips gradients that are still scaled, to be mended."""

import math

from course_lib.grading.exercises.common import function_exercise
from course_lib.grading.verdict import difference

TOLERANCE = 1e-6  # torch's clip_grad_norm_ adds 1e-6 to the norm


def steps(rng):
    """Gradients of a norm without a root, scaled; below the limit, above it, and not finite."""
    for most in (2.5, 20.0, 64.0):
        yield [10.0, 20.0], [24.0, 32.0], 8.0, most, 1.0
    for scaled in ([math.inf, 8.0], [3.0, math.nan], [-math.inf, 8.0]):
        yield [1.0, 2.0], scaled, 4.0, 1.0, 0.5
    for scale in (2.0, 64.0, 1024.0):
        times = int(rng.integers(1, 20)) / 4 + 1 / 8  # no whole number: // is no division
        gradients = [times * side for side in ((3.0, -4.0), (-6.0, 8.0), (2.0, 3.0, 6.0))[int(rng.integers(3))]]
        norm = math.sqrt(sum(gradient**2 for gradient in gradients))
        weights = [float(w) for w in rng.choice([-1, 1], len(gradients)) * rng.integers(50, 90, len(gradients))]
        for most in (norm / 2, 2 * norm):
            yield weights, [scale * gradient for gradient in gradients], scale, most, 0.5


def not_skipped(case, outcome):
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


MISTAKES = r"""
... A gradient that overflowed: the step is skipped, none of it may be used
    math.isfinite(g) for -> True for
or
    math.isfinite(g) for -> g < math.inf for
or
    [g / scale for -> [g / scale if math.isfinite(g) else 0.0 for
That is what it gave before: the norm of scaled gradients was held against the limit
    g * g for g in gradients -> g * g for g in scaled
The gradients that reach the weights must be divided by the scale
    [g / scale for g in scaled] -> scaled
Divide by the scale once
    rate * g -> rate * g / scale
The limit holds for the norm of all gradients together
    g * max_norm / norm -> max(-max_norm, min(max_norm, g))
Gradients longer than the limit are still clipped
    norm > max_norm -> False
The norm is the root of the sum of squares
    math.sqrt(sum(g * g for g in gradients)) -> sum(g * g for g in gradients)
or
    math.sqrt(sum(g * g for g in gradients)) -> sum(map(abs, gradients))
What is shortened becomes as long as the limit, not as long as 1
    g * max_norm / norm -> g / norm
Only gradients longer than the limit are shortened
    norm > max_norm -> True
A step goes against the gradient
    w - rate -> w + rate
"""

EXERCISE = function_exercise(
    __name__,
    calls=steps,
    label="steps of scaled gradients",
    tolerance=TOLERANCE,
    mistakes=MISTAKES,
    before=(not_skipped,),
    hints="""
Follow the example: what is the norm that is held against max_norm, and what is the gradient's own?
Divide by the scale first. Then everything else sees true gradients.
gradients = [g / scale for g in scaled]; if one is not finite, return weights; then clip, then update.
""",
)
