"""Exercise 08b: the nearest number of a format."""

from course_lib.grading.exercises.common import function_exercise
from course_lib.precision.formats import FloatFormat


def numbers(rng):
    """Numbers between two of a format, halfway too, below the smallest normal one, and beyond the largest."""
    yield from [(1.1875, 3, 2), (2049.0, 5, 10), (2051.0, 5, 10), (-0.0390625, 3, 2)]
    for widths in ((5, 10), (8, 7), (4, 3), (5, 2), (3, 2)):
        form = FloatFormat("", *widths)
        power, step = int(rng.integers(1 - form.bias, form.bias)), 2.0 ** -widths[1]
        place = int(rng.integers(2 ** widths[1]))
        for between in (0.5, 0.25, 0.75, 1.5):  # halves to even, from below and from above
            yield float((1 + (place + between) * step) * 2.0**power), *widths
        yield -2.25 * form.smallest_subnormal, *widths
        yield form.smallest_subnormal / 2, *widths
        yield form.largest + 2.0 ** (form.bias - widths[1] - 2), *widths
        yield -form.largest - 2.0 ** (form.bias - widths[1] - 1), *widths
    yield from [(0.0, 4, 3), (1.0, 4, 3), (-1.0, 5, 10)]


MISTAKES = r"""
Of two equally near numbers, that with an even mantissa: halves do not always go up
    round(x / spacing) -> math.copysign(math.floor(abs(x) / spacing + 0.5), x)
or
    round(x / spacing) -> math.floor(x / spacing + 0.5)
To the nearest: nothing is cut off
    round(x / spacing) -> math.trunc(x / spacing)
or
    round(x / spacing) -> math.floor(x / spacing)
Below 2^(1 - bias) the spacing stays as it is: the subnormal numbers
    max(math.frexp(x)[1] - 1, 1 - bias) -> math.frexp(x)[1] - 1
or
    , 1 - bias) -> , -bias)
or
    , 1 - bias) -> , 2 - bias)
Below 2^(1 - bias) there still are numbers, the subnormal ones
    return nearest if -> return 0.0 if abs(x) < 2.0 ** (1 - bias) else nearest if
A format has a largest number, and infinity behind it
    nearest if abs(nearest) <= largest else math.copysign(math.inf, x) -> nearest
From halfway to where the next number would be, it is infinity
    math.copysign(math.inf, x) -> math.copysign(largest, x)
Nearer to the largest number than to where the next would be: not yet infinity
    abs(nearest) <= largest -> abs(x) <= largest
A mantissa of m bits cuts each power of two into 2^m parts
    spacing = -> mantissa_bits -= 1\n    spacing =
The sign was lost
    nearest = round -> x = abs(x)\n    nearest = round
or
    math.copysign(math.inf, x) -> math.inf
These are the numbers of fp16; this format has other widths
    if x == 0: -> exponent_bits, mantissa_bits = 5, 10\n    if x == 0:
65504 is the largest number of fp16; this format has one of its own
    (2 - 2.0**-mantissa_bits) * 2.0**bias -> 65504
The bias is 2^(exponent bits - 1) - 1
    (exponent_bits - 1) - 1 -> (exponent_bits - 1)
"""

EXERCISE = function_exercise(
    __name__,
    calls=numbers,
    label="numbers rounded to five formats",
    mistakes=MISTAKES,
    hints="""
How far apart are the numbers of the format where x lies? math.frexp(x)[1] - 1 is the power of two below |x|.
spacing = 2^(power - m), with power at least 1 - bias. Python's round() takes halves to even.
y = round(x / spacing) * spacing; the largest is (2 - 2^-m) · 2^bias; if |y| is larger, it is infinity.
""",
)
