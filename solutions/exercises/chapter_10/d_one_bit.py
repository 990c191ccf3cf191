"""Exercise 10d: one bit a number, packed, with a mean for each sign, and what arrives."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from course_lib.grading.exercise import Case, Outcome
from course_lib.grading.exercises.common import Reasons, function_exercise

__all__ = ["EXERCISE"]


# Cases


def rows(rng: np.random.Generator) -> Iterator[Case]:
    """Rows whose means are whole: with zeros, of one sign alone, and of lengths that 8 does not divide."""
    calls = [([4, -2, 0, -6, 2, 9, 0, 3, -4],), ([5],), ([-3, -5],), ([0, 0, -1],)]
    for length in (3, 8, 13, 16, 17):
        calls.append((_row(rng, length),))
    yield Case(1, calls, [_slip(*call) for call in calls], label="rows of 1 to 17 numbers")


def _row(rng: np.random.Generator, length: int) -> list[int]:
    negative = rng.random(length) < 0.5
    negative[:2] = rng.permutation([True, False])
    row = rng.integers(1, 40, length)
    row[~negative & (rng.random(length) < 0.2)] = 0
    for chosen in (negative, ~negative):  # the last of each sign makes the mean whole
        places = np.flatnonzero(chosen)
        row[places[-1]] += -row[places].sum() % len(places)
    return np.where(negative, -row, row).tolist()


# Diagnoses


def no_such_sign(case: Case, outcome: Outcome) -> str | None:
    """A mean of no numbers: a division by zero, or what is not a number."""
    text = "A row may have no negative number, or nothing else: the mean of none is 0 here"
    if outcome.failure is not None:
        empty = outcome.failure.cause in ("ZeroDivisionError", "StatisticsError")
        return f"{text}. {outcome.failure.text}" if empty else None
    for (row,), value in zip(case.inputs, outcome.values, strict=True):
        if any(isinstance(mean, float) and math.isnan(mean) for mean in value[0]):
            return f"one_bit({row}) has a mean that is not a number. {text}"
    return None


def reasons(row: Sequence[int]) -> Reasons:
    means, packed, arrives = _slip(row)
    bits = [int(x < 0) for x in row]
    yield "The first bit of a byte is its highest: 128", [means, _packed(bits, lowest_first=True), arrives]
    yield "The last byte is filled up with zeros behind its bits", [means, _packed(bits, fill=False), arrives]
    in_front = [0] * (-len(bits) % 8) + bits
    filled = [means, _packed(in_front), arrives]
    yield "The zeros that fill the last byte stand behind its bits, not in front of all", filled
    if len(bits) % 8 == 0:
        yield "A row of 8 numbers fills one byte: none is left to fill up", [means, [*packed, 0], arrives]
    yield "0 is not negative: it counts in the first mean", _slip(row, zero_nowhere=True)
    yield "A bit is 1 where the number is negative", [means, _packed([1 - bit for bit in bits]), arrives]
    yield "Eight bits make one byte, a number from 0 to 255", [means, bits, arrives]
    yield "0 is not negative: its bit is 0, and it belongs to the first mean", _slip(row, zero_negative=True)
    yield "First the mean of what is not negative, then that of the negative numbers", [means[::-1], packed, arrives]
    yield "A mean divides by how many numbers of its sign there are, not by all", _slip(row, over_all=True)
    one = sum(map(abs, row)) / len(row)
    yield "Each sign has a mean of its own", [[one, -one], packed, [-one if bit else one for bit in bits]]
    size = [means[0], -means[1]]
    yield "The mean of negative numbers is negative", [size, packed, [size[bit] for bit in bits]]
    yield "The mean of negative numbers is negative, as what arrives", [size, packed, arrives]
    yield "What arrives are means: the numbers themselves did not travel", [means, packed, list(row)]


def _slip(
    row: Sequence[int], *, zero_negative: bool = False, zero_nowhere: bool = False, over_all: bool = False
) -> list:
    """[means, packed bits, what arrives], or with one mistake."""
    bits = [int(x < 0 or (zero_negative and x == 0)) for x in row]
    groups = [[x for x, bit in zip(row, bits, strict=True) if bit == sign] for sign in (0, 1)]
    if zero_nowhere:
        groups[0] = [x for x in groups[0] if x]
    means = [sum(group) / (len(row) if over_all else max(1, len(group))) for group in groups]
    return [means, _packed(bits), [means[bit] for bit in bits]]


def _packed(bits: Sequence[int], *, lowest_first: bool = False, fill: bool = True) -> list[int]:
    eights = ["".join(map(str, bits[start : start + 8])) for start in range(0, len(bits), 8)]
    return [int(text[::-1] if lowest_first else text.ljust(8, "0") if fill else text, 2) for text in eights]


# The exercise

EXERCISE = function_exercise(
    id="10d",
    title="One bit",
    function="one_bit",
    points=5,
    cases=rows,
    tolerance=1e-9,
    reasons=reasons,
    before=(no_such_sign,),
    hints=(
        "Two lists first: the numbers that are not negative, and the others. What is the mean of an empty one here?",
        'A text of bits, filled with .ljust(8, "0"), becomes a byte by int(text, 2).',
        "What arrives: means[1] where the bit is 1, else means[0], for each number of the row.",
    ),
)
