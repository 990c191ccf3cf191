"""Exercise 05e: softmax in pieces, and the pieces put together."""

import math

from course_lib.grading.exercises.common import function_exercise

NOTHING = [-math.inf, 0.0, 0.0]  # of no key at all


def attentions(rng):
    """Pieces of positive values, some of no key, some of scores that exp cannot take."""
    drawn = [[_piece(rng, offset) for _ in range(number)] for number, offset in ((2, 0), (3, 1), (4, 900), (3, -900))]
    yield ([[0.0, 1.0, 2.0], [math.log(3), 1.0, 6.0]],)
    yield ([[3.0, 1.0, 4.0], [1.0, 2.0, 2.0]],)  # the largest score is not the last piece's
    yield ([[5.0, 2.0, 3.0]],)
    yield from ((pieces,) for pieces in drawn)
    yield ([NOTHING, *drawn[1]],)
    yield ([*drawn[0], NOTHING],)
    yield ([NOTHING, NOTHING, *drawn[2], NOTHING, NOTHING],)


def _piece(rng, offset):
    """Largest score, sum of exp(score - largest), sum of exp(score - largest) * value."""
    scores, values = rng.integers(0, 6, 4) + offset, rng.integers(1, 20, 4)
    weights = [math.exp(score - max(scores)) for score in scores.tolist()]
    return [float(max(scores)), sum(weights), sum(w * value for w, value in zip(weights, values.tolist(), strict=True))]


def overflow(case, outcome):
    """Exponentials that are too large, and a difference of two infinities."""
    if outcome.failure is not None:
        text = outcome.failure.text
        return f"exp only of what is 0 or less: subtract the largest of all. {text}" if "Overflow" in text else None
    for (pieces,), came in zip(case.inputs, outcome.values, strict=True):
        if any(math.isnan(number) for number in came):
            return (
                f"combined({pieces}) gave {came}: -inf - (-inf) is no number. A piece without keys counts for nothing, "
                "and the largest score of all pieces is finite"
            )
    return None


MISTAKES = r"""
Each piece counted from its own largest score: multiply it by exp(its largest - the new one)
    math.exp(largest - top) * ->
The value is made of the same exponentials as the total: multiply it, too
    math.exp(largest - top) * value -> value
The total is made of the same exponentials as the value: multiply it, too
    math.exp(largest - top) * total -> total
The value stays a sum: who divides it by the total does so at the end
    [top, total, value] -> [top, total, value / total]
exp(its largest - the new one), not the other way round: that is 1 or less
    largest - top -> min(top - largest, 700)
All scores may be below 0: begin with -inf, or with the first piece
    max(largest for largest, _, _ in pieces) -> max(0.0, *(largest for largest, _, _ in pieces))
The largest score of all pieces counts, not that of the last one
    max(largest for largest, _, _ in pieces) -> [largest for largest, _, _ in pieces if largest > -math.inf][-1]
... exp only of what is 0 or less: subtract the largest of all
    math.exp(largest - top) -> math.exp(largest) / math.exp(top)
... -inf - (-inf) is no number
    answer no_number
or
    answer first_two_empty
"""

EXERCISE = function_exercise(
    __name__,
    calls=attentions,
    label="pieces put together",
    tolerance=1e-6,
    before=(overflow,),
    mistakes=MISTAKES,
    hints="""
Each piece has exponentials of score - its own largest. What must they be multiplied by to be exponentials of score - the largest of all?
By exp(its largest - largest of all), which is 1 or less. Total and value alike.
top = max(m for m, _, _ in pieces); then sums of math.exp(m - top) * total and of math.exp(m - top) * value.
""",
)
