"""Exercise 08a: the number that bits stand for."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from course_lib.grading.exercise import Case
from course_lib.grading.exercises.common import Reasons, function_exercise
from course_lib.precision.formats import FloatFormat

__all__ = ["EXERCISE"]


# Cases

WIDTHS = ((5, 10), (8, 7), (5, 2), (3, 4), (2, 1))  # exponent bits, mantissa bits


def codes(rng: np.random.Generator) -> Iterator[Case]:
    """Numbers of some formats: normal, subnormal, zero and infinite ones, with both signs; none that is no number."""
    calls = [("0" + "01111" + "1000000000", 5), ("1" + "10" + "1", 2), ("0" + "00000" + "0000000011", 5)]
    for exponent_bits, mantissa_bits in WIDTHS:
        free = 2**exponent_bits - 1
        for exponent in (0, 1, int(rng.integers(1, free)), free - 1):
            bits = _bits(rng, exponent, int(rng.integers(2**mantissa_bits)), exponent_bits, mantissa_bits)
            calls.append((bits, exponent_bits))
        calls.append((_bits(rng, free, 0, exponent_bits, mantissa_bits), exponent_bits))
    calls.append(("0" * 8, 4))
    yield Case(1, calls, [_value(*call) for call in calls], label="bits of five formats")


def _bits(rng: np.random.Generator, exponent: int, mantissa: int, exponent_bits: int, mantissa_bits: int) -> str:
    return f"{rng.integers(2)}{exponent:0{exponent_bits}b}{mantissa:0{mantissa_bits}b}"


def _value(bits: str, exponent_bits: int) -> float:
    return FloatFormat("", exponent_bits, len(bits) - 1 - exponent_bits).decode(int(bits, 2)).item()


# Diagnoses


def reasons(bits: str, exponent_bits: int) -> Reasons:
    call = bits, exponent_bits
    right, bias = _value(*call), 2 ** (exponent_bits - 1) - 1
    yield "The first bit is the sign: 1 is negative", abs(right)
    yield "The first bit is the sign: 1 is negative, 0 positive", -right
    yield "An exponent of ones alone is infinity", _slip(*call, bias, infinity=False)
    yield "With an exponent of zeros there is no leading 1: subnormal", _slip(*call, bias, leading="always", lowest=0)
    yield "With an exponent of zeros there is no leading 1", _slip(*call, bias, leading="always")
    yield "Subnormal numbers have the exponent 1 - bias, as the smallest normal ones", _slip(*call, bias, lowest=0)
    yield "Subnormal numbers are not all zero", 0.0 if abs(right) < 2.0 ** (1 - bias) else right
    yield "A normal number has a leading 1 before its mantissa", _slip(*call, bias, leading="never")
    yield "The bias is 2^(exponent bits - 1) - 1", _slip(*call, bias + 1)
    yield "The bias is 15 for exponents of 5 bits: it is 2^(exponent bits - 1) - 1", _slip(*call, 15)
    yield "Take the bias off the exponent", _slip(*call, 0)
    width = len(bits) - 1 - exponent_bits
    for parts in (1, 2 ** (width - 1), 2**10):
        yield "A mantissa of m bits counts parts of 2^m", _slip(*call, bias, parts=parts)


def _slip(
    bits: str,
    exponent_bits: int,
    bias: int,
    *,
    leading: str = "normal",
    lowest: int = 1,
    infinity: bool = True,
    parts: int | None = None,
) -> float:
    """The number with one mistake; `lowest` is the exponent that an exponent of zeros stands for."""
    exponent, mantissa = int(bits[1 : 1 + exponent_bits], 2), bits[1 + exponent_bits :]
    one = {"normal": exponent > 0, "always": True, "never": False}[leading]
    value = (one + int(mantissa, 2) / (parts or 2 ** len(mantissa))) * 2.0 ** (max(exponent, lowest) - bias)
    if infinity and exponent == 2**exponent_bits - 1:
        value = math.inf
    return -value if bits[0] == "1" else value


# The exercise

EXERCISE = function_exercise(
    id="08a",
    title="What bits mean",
    function="value_of",
    points=4,
    cases=codes,
    reasons=reasons,
    hints=(
        "Cut the text in three: sign, exponent, mantissa. int(text, 2) reads binary digits.",
        "A normal number is (1 + mantissa / 2^m) · 2^(exponent - bias). Which two exponents mean something else?",
        "Exponent 0: mantissa / 2^m · 2^(1 - bias). Exponent of ones alone: float('inf'). Then the sign.",
    ),
)
