"""Exercise 10d: one bit a number, packed, with a mean for each sign, and what arrives."""

import math

import numpy as np

from course_lib.grading.exercises.common import function_exercise


def rows(rng):
    """Rows whose means are whole, and one whose are not: with zeros, of one sign alone, and of lengths that 8 does not divide."""
    yield from [([4, -2, 0, -6, 2, 9, 0, 3, -4],), ([5],), ([-3, -5],), ([0, 0, -1],)]
    yield ([5, -3, 2, -4],)
    yield from ((_row(rng, length),) for length in (3, 8, 13, 16, 17))


def _row(rng, length):
    negative = rng.random(length) < 0.5
    negative[:2] = rng.permutation([True, False])
    row = rng.integers(1, 40, length)
    row[~negative & (rng.random(length) < 0.2)] = 0
    for chosen in (negative, ~negative):  # the last of each sign makes the mean whole
        places = np.flatnonzero(chosen)
        row[places[-1]] += -row[places].sum() % len(places)
    return np.where(negative, -row, row).tolist()


def no_such_sign(case, outcome):
    """A mean of no numbers: a division by zero, or what is not a number."""
    text = "A row may have no negative number, or nothing else: the mean of none is 0 here"
    if outcome.failure is not None:
        empty = outcome.failure.cause in ("ZeroDivisionError", "StatisticsError")
        return f"{text}. {outcome.failure.text}" if empty else None
    for (row,), value in zip(case.inputs, outcome.values, strict=True):
        if any(isinstance(mean, float) and math.isnan(mean) for mean in value[0]):
            return f"one_bit({row}) has a mean that is not a number. {text}"
    return None


MISTAKES = r"""
... A row may have no negative number, or nothing else: the mean of none is 0 here
    if group else 0 ->
or
    if group else 0 -> if group else float("nan")
The first bit of a byte is its highest: 128
    .ljust(8, "0") -> [::-1]
The last byte is filled up with zeros behind its bits
    .ljust(8, "0") ->
The zeros that fill the last byte stand behind its bits, not in front of all
    packed = [int(bits -> filled = "0" * (-len(bits) % 8) + bits\n    packed = [int(filled
A row of 8 numbers fills one byte: none is left to fill up
    range(0, len(bits), 8) -> range(0, len(bits) + 1, 8)
0 is not negative: it counts in the first mean
    x >= 0 -> x > 0
A bit is 1 where the number is negative
    "1" if x < 0 else "0" -> "0" if x < 0 else "1"
    int(bit)] -> 1 - int(bit)]
Eight bits make one byte, a number from 0 to 255
    [means, packed, -> [means, list(map(int, bits)),
0 is not negative: its bit is 0, and it belongs to the first mean
    x >= 0 -> x > 0
    x < 0] -> x <= 0]
    x < 0 else -> x <= 0 else
First the mean of what is not negative, then that of the negative numbers
    [means, packed -> [means[::-1], packed
A mean divides by how many numbers of its sign there are, not by all
    len(group) -> len(row)
Each sign has a mean of its own
    [sum(group) / len(group) if group else 0 for group in (others, negative)] -> [sign * sum(map(abs, row)) / len(row) for sign in (1, -1)]
The mean of negative numbers is negative
    [x for x in row if x < 0] -> [-x for x in row if x < 0]
or
    [means, packed -> [list(map(abs, means)), packed
What arrives are means: the numbers themselves did not travel
    [means[int(bit)] for bit in bits] -> row
"""

EXERCISE = function_exercise(
    __name__,
    calls=rows,
    label="rows of 1 to 17 numbers",
    tolerance=1e-9,
    before=(no_such_sign,),
    mistakes=MISTAKES,
    hints="""
Two lists first: the numbers that are not negative, and the others. What is the mean of an empty one here?
A text of bits, filled with .ljust(8, "0"), becomes a byte by int(text, 2).
What arrives: means[1] where the bit is 1, else means[0], for each number of the row.
""",
)
