"""Exercise 08a: the number that bits stand for."""

from course_lib.grading.exercises.common import function_exercise

WIDTHS = ((5, 10), (8, 7), (5, 2), (3, 4), (2, 1))  # exponent bits, mantissa bits


def codes(rng):
    """Numbers of some formats: normal, subnormal, zero and infinite ones, with both signs; none that is no number."""
    yield from [("0" + "01111" + "1000000000", 5), ("1" + "10" + "1", 2), ("0" + "00000" + "0000000011", 5)]
    for exponent_bits, mantissa_bits in WIDTHS:
        free = 2**exponent_bits - 1
        for exponent in (0, 1, int(rng.integers(1, free)), free - 1):
            mantissa = int(rng.integers(2**mantissa_bits))
            yield _bits(rng, exponent, mantissa, exponent_bits, mantissa_bits), exponent_bits
        yield _bits(rng, free, 0, exponent_bits, mantissa_bits), exponent_bits
    yield "0" * 8, 4


def _bits(rng, exponent, mantissa, exponent_bits, mantissa_bits):
    return f"{rng.integers(2)}{exponent:0{exponent_bits}b}{mantissa:0{mantissa_bits}b}"


MISTAKES = r"""
The first bit is the sign: 1 is negative
    -1.0 if bits[0] == "1" else 1.0 -> 1.0
The sign is the wrong way round: 1 is negative, 0 positive
    bits[0] == "1" -> bits[0] == "0"
An exponent of ones alone is infinity
    return sign * math.inf -> pass
With an exponent of zeros there is no leading 1: subnormal
    exponent == 0 -> False
or
    sign * share * -> sign * (1 + share) *
Subnormal numbers have the exponent 1 - bias, as the smallest normal ones
    (1 - bias) -> -bias
Subnormal numbers are not all zero
    return sign * share * 2.0 ** (1 - bias) -> return 0.0
A normal number has a leading 1 before its mantissa
    (1 + share) -> share
The bias is 2^(exponent bits - 1) - 1
    (exponent_bits - 1) - 1 -> (exponent_bits - 1)
The bias is 15 for exponents of 5 bits: it is 2^(exponent bits - 1) - 1
    2 ** (exponent_bits - 1) - 1 -> 15
Take the bias off the exponent
    2 ** (exponent_bits - 1) - 1 -> 0
or
    (exponent - bias) -> exponent
A mantissa of m bits counts parts of 2^m
    / 2 ** len(mantissa) ->
or
    / 2 ** len(mantissa) -> / 2 ** (len(mantissa) - 1)
or
    2 ** len(mantissa) -> 2**10
That is the number of the whole code; cut it into sign, exponent and mantissa
    return sign * (1 + share) * 2.0 ** (exponent - bias) -> return float(int(bits, 2))
"""

EXERCISE = function_exercise(
    __name__,
    calls=codes,
    label="bits of five formats",
    mistakes=MISTAKES,
    hints="""
Cut the text in three: sign, exponent, mantissa. int(text, 2) reads binary digits.
A normal number is (1 + mantissa / 2^m) · 2^(exponent - bias). Which two exponents mean something else?
Exponent 0: mantissa / 2^m · 2^(1 - bias). Exponent of ones alone: float('inf'). Then the sign.
""",
)
