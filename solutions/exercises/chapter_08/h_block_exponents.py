"""Exercise 08h: the power of two that each block of numbers is divided by before it goes into e4m3."""

from course_lib.grading.exercises.common import function_exercise

LEAST = 2.0**-127


def tables(rng):
    """Numbers and the size of a block: on both sides of what just fits, negative ones, zeros, a last block that is short, and
    numbers too small for any power but the least."""
    yield [448.0, 7.0, 900.0, 1.0], 2
    yield [-448.0 * 2.0**-9, 1.0, 449.0, -3.0, 300.0], 2
    yield [0.0, 0.0, -0.0, 5.0], 3
    yield [447.0, -600.0, 500.0, 512.0, 640.0], 1
    yield [], 4
    yield [1e-40, 448 * LEAST, 449 * LEAST, -(2.0**-149), 0.0], 1
    for power in rng.integers(-120, 110, 3).tolist():  # what just fits, and what float32 has next to it
        yield [448 * 2.0**power, 448 * 2.0**power * (1 + 2.0**-23), -448 * 2.0**power * (1 - 2.0**-23)], 1
    for size in (1, 3, 4, 32):
        count = 3 * size + int(rng.integers(size))
        powers = 2.0 ** rng.integers(-12, 13, count)
        yield [float(number) for number in rng.integers(-60, 61, count) * powers * 7], size


MISTAKES = r"""
That is the nearest power of two: where it is the lower one, the block's largest number no longer fits
    append(exponent) -> append(exponent - (largest < 448 * 2.0 ** (exponent - 0.5)))
That is OCP's rule, by the largest number's exponent alone: from 448 to 512 it would be cut off
    largest > 448 * 2.0**exponent -> largest >= 512 * 2.0**exponent
One power of two more than needed: 448 itself still fits
    largest > 448 -> largest >= 448
A negative number may be the largest: compare magnitudes
    abs(value) -> value
Each block has a scale of its own: its largest number, not that of all
    values[start : start + size] -> values
The last block may be shorter, and it has a scale, too
    range(0, len(values), size) -> range(0, len(values) - size + 1, size)
Blocks do not overlap: the next begins where the last one ended
    range(0, len(values), size) -> range(len(values))
e4m3 ends at 448: it has no infinities, and spends their codes on numbers
    largest > 448 -> largest > 240
That is what the numbers are multiplied by; asked for is what they are divided by
    append(exponent) -> append(-exponent)
Asked for are exponents, not the powers of two
    append(exponent) -> append(2.0**exponent)
A block of zeros takes the least exponent that there is, -127
    exponent = -127 -> exponent = -127 if largest else 0
"""

EXERCISE = function_exercise(
    __name__,
    calls=tables,
    label="exponents of the blocks",
    mistakes=MISTAKES,
    hints="""
Which number of a block decides, and what must it be at most after the division?
The largest magnitude, divided by 2**k, must be 448 or less; the smallest such k leaves the others most bits.
Begin with k = -127, and add one while largest > 448 * 2.0**k.
""",
)
