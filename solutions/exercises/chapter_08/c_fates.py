"""Exercise 08c: what becomes of gradients in fp16 under a loss scale, and the scale that is best."""

from course_lib.grading.exercises.common import function_exercise


def gradients(rng):
    """Gradients over many powers of two, zeros among them, and scales; some come just to an edge of fp16."""
    edge = [2.0**-25, 1.5 * 2.0**-25, -(2.0**-26), 0.0, 65519.0, 65520.0, -65536.0]
    yield from [([2.0**-30, 0.0, -3 * 2.0**-24, 1.0], 1), ([2.0**-30, 0.0, -3 * 2.0**-24, 1.0], 2**16), (edge, 1)]
    for scale in (1, 8, 1024, 2**16, 2**24):
        powers = rng.integers(-36, 2, int(rng.integers(5, 12)))
        drawn = [float(rng.choice([-1, 1])) * float(rng.integers(4, 8)) * 2.0 ** int(power) for power in powers]
        yield [*drawn, 0.0], scale


MISTAKES = r"""
A gradient that was zero before is not lost: leave it out
    if gradient != 0 ->
The loss scale multiplies every gradient first
    fp16(gradient * scale) -> fp16(gradient)
or
    fp16(gradient * scale) -> fp16(gradient) * scale
Subnormal numbers are kept: fp16 goes down to 2^-24
    value == 0 -> abs(value) < 2.0**-14
What is nearer to 2^-24 than to 0 is rounded up to it
    sum(value == 0 for value in stored) -> sum(0 < abs(g * scale) < 2.0**-24 for g in gradients)
Exactly halfway, 2^-25 goes to the even one: zero
    sum(value == 0 for value in stored) -> sum(0 < abs(g * scale) < 2.0**-25 for g in gradients)
Negative gradients overflow too: look at magnitudes
    math.isinf(value) -> value == math.inf
In the order lost, kept, overflowed
    [lost, len -> [overflowed, len
    overflowed, overflowed] -> overflowed, lost]
or
    [lost, len(stored) - lost - overflowed, -> [len(stored) - lost - overflowed, lost,
A gradient that was zero before is not counted at all: it is not kept either
    len(stored) -> len(gradients)
The scale multiplies the gradients; they are divided by it later
    gradient * scale -> gradient / scale
Scale first, and then round: what fp16 has lost, no scale brings back
    fp16(gradient * scale) -> fp16(fp16(gradient) * scale)
Round each product with fp16 before you look at it
    fp16(gradient * scale) -> gradient * scale
Asked for are counts, not shares
    return [lost -> return [count / len(gradients) for count in [lost
    overflowed, overflowed] -> overflowed, overflowed]]
Values are rounded: those above 2^-25 up to 2^-24, those below 65520 down to 65504
    sum(value == 0 for value in stored) -> sum(0 < abs(g * scale) < 2.0**-24 for g in gradients)
    sum(math.isinf(value) for value in stored) -> sum(abs(g * scale) > 65504 for g in gradients)
From 65504 to below 65520 the nearest number is 65504
    sum(math.isinf(value) for value in stored) -> sum(abs(g * scale) > 65504 for g in gradients)
"""

EXERCISE = function_exercise(
    __name__,
    calls=gradients,
    label="gradients and loss scales",
    mistakes=MISTAKES,
    hints="""
Multiply by the scale, round with fp16, and look: zero, infinite, or neither.
A gradient that is zero before anything happens belongs to none of the three.
lost: fp16(g * scale) == 0 and g != 0; overflowed: abs(...) == math.inf; kept: all others that are not 0.
""",
)
