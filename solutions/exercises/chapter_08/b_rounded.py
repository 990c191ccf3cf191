"""Exercise 08b: the nearest number of a format."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from course_lib.grading.exercise import Case
from course_lib.grading.exercises.common import Reasons, function_exercise
from course_lib.precision.formats import FloatFormat

__all__ = ["EXERCISE"]


# Cases


def numbers(rng: np.random.Generator) -> Iterator[Case]:
    """Numbers between two of a format, halfway too, below the smallest normal one, and beyond the largest."""
    calls = [(1.1875, 3, 2), (2049.0, 5, 10), (2051.0, 5, 10), (-0.0390625, 3, 2)]
    for exponent_bits, mantissa_bits in ((5, 10), (8, 7), (4, 3), (5, 2), (3, 2)):
        form = FloatFormat("", exponent_bits, mantissa_bits)
        power, step = int(rng.integers(1 - form.bias, form.bias)), 2.0**-mantissa_bits
        place = int(rng.integers(2**mantissa_bits))
        for between in (0.5, 0.25, 0.75, 1.5):  # halves to even, from below and from above
            calls.append((float((1 + (place + between) * step) * 2.0**power), exponent_bits, mantissa_bits))
        calls.append((-2.25 * form.smallest_subnormal, exponent_bits, mantissa_bits))
        calls.append((form.smallest_subnormal / 2, exponent_bits, mantissa_bits))
        calls.append((form.largest + 2.0 ** (form.bias - mantissa_bits - 2), exponent_bits, mantissa_bits))
        calls.append((-form.largest - 2.0 ** (form.bias - mantissa_bits - 1), exponent_bits, mantissa_bits))
    calls.append((0.0, 4, 3))
    yield Case(1, calls, [_rounded(*call) for call in calls], label="numbers rounded to five formats")


def _rounded(x: float, exponent_bits: int, mantissa_bits: int) -> float:
    return FloatFormat("", exponent_bits, mantissa_bits).round(x).item()


# Diagnoses


def reasons(x: float, exponent_bits: int, mantissa_bits: int) -> Reasons:
    call = x, exponent_bits, mantissa_bits
    up = _slip(*call, to=lambda count: math.floor(count + 0.5))
    yield "Of two equally near numbers, that with an even mantissa: halves do not always go up", up
    yield "To the nearest: nothing is cut off", _slip(*call, to=math.floor)
    bias = 2 ** (exponent_bits - 1) - 1
    for lowest in (-2000, -bias, 2 - bias):
        yield "Below 2^(1 - bias) the spacing stays as it is: the subnormal numbers", _slip(*call, lowest=lowest)
    smallest = 2.0 ** (1 - bias)
    flushed = 0.0 if abs(x) < smallest else _rounded(*call)
    yield "Below 2^(1 - bias) there still are numbers, the subnormal ones", flushed
    yield "A format has a largest number, and infinity behind it", _slip(*call, most=math.inf)
    largest = (2 - 2.0**-mantissa_bits) * 2.0**bias
    yield (
        "From halfway to where the next number would be, it is infinity",
        math.copysign(min(abs(_rounded(*call)), largest), x),
    )
    early = math.copysign(math.inf, x) if abs(x) > largest else _rounded(*call)
    yield "Nearer to the largest number than to where the next would be: not yet infinity", early
    yield "A mantissa of m bits cuts each power of two into 2^m parts", _rounded(x, exponent_bits, mantissa_bits - 1)
    yield "The sign was lost", abs(_rounded(*call))
    yield "These are the numbers of fp16; this format has other widths", _rounded(x, 5, 10)
    yield "65504 is the largest number of fp16; this format has one of its own", _slip(*call, most=65504)
    other = 2 ** (exponent_bits - 1)
    most = (2 - 2.0**-mantissa_bits) * 2.0**other
    yield "The bias is 2^(exponent bits - 1) - 1", _slip(*call, lowest=1 - other, most=most)


def _slip(
    x: float,
    exponent_bits: int,
    mantissa_bits: int,
    *,
    to: Callable[[float], int] = round,
    lowest: int | None = None,
    most: float | None = None,
) -> float:
    """The number with one mistake: another rounding, another lowest power of two, no largest number."""
    bias = 2 ** (exponent_bits - 1) - 1
    power = max(math.frexp(x)[1] - 1, 1 - bias if lowest is None else lowest)
    spacing = 2.0 ** max(power - mantissa_bits, -1000)
    value = to(abs(x) / spacing) * spacing
    largest = (2 - 2.0**-mantissa_bits) * 2.0**bias if most is None else most
    return math.copysign(value if value <= largest else math.inf, x)


# The exercise

EXERCISE = function_exercise(
    id="08b",
    title="The nearest number",
    function="rounded",
    points=5,
    cases=numbers,
    reasons=reasons,
    hints=(
        "How far apart are the numbers of the format where x lies? math.frexp(x)[1] - 1 is the power of two below |x|.",
        "spacing = 2^(power - m), with power at least 1 - bias. Python's round() takes halves to even.",
        "y = round(x / spacing) * spacing; the largest is (2 - 2^-m) · 2^bias; if |y| is larger, it is infinity.",
    ),
)
