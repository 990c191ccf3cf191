"""Exercise 05e: softmax in pieces, and the pieces put together."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from course_lib.grading.exercise import Case, Outcome
from course_lib.grading.exercises.common import function_exercise

__all__ = ["EXERCISE"]

Piece = list[float]  # largest score, sum of exp(score - largest), sum of exp(score - largest) * value
NOTHING: Piece = [-math.inf, 0.0, 0.0]  # of no key at all


# Cases


def attentions(rng: np.random.Generator) -> Iterator[Case]:
    """Pieces of positive values, some of no key, some of scores that exp cannot take."""
    calls: list[tuple[list[Piece]]] = [([[0.0, 1.0, 2.0], [math.log(3), 1.0, 6.0]],), ([[5.0, 2.0, 3.0]],)]
    for number, offset in ((2, 0), (3, 1), (4, 900), (3, -900)):
        pieces = []
        for _ in range(number):
            scores, values = rng.integers(0, 6, 4) + offset, rng.integers(1, 20, 4)
            pieces.append(_piece(scores.tolist(), values.tolist()))
        calls.append((pieces,))
    calls.append(([NOTHING, *calls[3][0]],))
    calls.append(([*calls[2][0], NOTHING],))
    calls.append(([NOTHING, NOTHING, *calls[4][0], NOTHING, NOTHING],))
    yield Case(1, calls, [_whole(*call) for call in calls], label="pieces put together")


def _piece(scores: list[float], values: list[float]) -> Piece:
    largest = max(scores)
    weights = [math.exp(score - largest) for score in scores]
    return [float(largest), sum(weights), sum(w * value for w, value in zip(weights, values, strict=True))]


def _whole(pieces: list[Piece]) -> Piece:
    top = max(largest for largest, _, _ in pieces)
    return [top, *(math.fsum(math.exp(piece[0] - top) * piece[i] for piece in pieces) for i in (1, 2))]


# Diagnoses


def overflow(case: Case, outcome: Outcome) -> str | None:
    """Exponentials that are too large, and a difference of two infinities."""
    if outcome.failure is not None:
        text = outcome.failure.text
        return f"exp only of what is 0 or less: subtract the largest of all. {text}" if "Overflow" in text else None
    for (pieces,), came in zip(case.inputs, outcome.values, strict=True):
        try:
            lost = any(math.isnan(number) for number in came)
        except TypeError:
            return None
        if lost:
            return (
                f"combined({pieces}) gave {came}: -inf - (-inf) is no number. A piece without keys counts for nothing, "
                "and the largest score of all pieces is finite"
            )
    return None


def reasons(pieces: list[Piece]) -> Iterator[tuple[str, Piece]]:
    top, total, value = _whole(pieces)
    plain = [sum(piece[i] for piece in pieces) for i in (1, 2)]
    yield "Each piece counted from its own largest score: multiply it by exp(its largest - the new one)", [top, *plain]
    yield "The value is made of the same exponentials as the total: multiply it, too", [top, total, plain[1]]
    yield "The total is made of the same exponentials as the value: multiply it, too", [top, plain[0], value]
    yield "The value stays a sum: who divides it by the total does so at the end", [top, total, value / total]
    some = [piece for piece in pieces if piece[1]]
    if all(top - piece[0] < 100 for piece in some):
        grown = [math.fsum(math.exp(top - piece[0]) * piece[i] for piece in some) for i in (1, 2)]
        yield "exp(its largest - the new one), not the other way round: that is 1 or less", [top, *grown]
    least = max(0.0, top)
    yield (
        "All scores may be below 0: begin with -inf, or with the first piece",
        [least, *(math.fsum(math.exp(piece[0] - least) * piece[i] for piece in pieces) for i in (1, 2))],
    )
    last = pieces[-1][0]
    if all(abs(piece[0] - last) < 100 for piece in pieces):
        late = [math.fsum(math.exp(piece[0] - last) * piece[i] for piece in pieces) for i in (1, 2)]
        yield "The largest score of all pieces counts, not that of the last one", [last, *late]


# The exercise

EXERCISE = function_exercise(
    id="05e",
    title="Softmax in pieces",
    function="combined",
    points=4,
    cases=attentions,
    tolerance=1e-6,
    reasons=reasons,
    before=(overflow,),
    hints=(
        "Each piece has exponentials of score - its own largest. What must they be multiplied by to be exponentials of "
        "score - the largest of all?",
        "By exp(its largest - largest of all), which is 1 or less. Total and value alike.",
        "top = max(m for m, _, _ in pieces); then sums of math.exp(m - top) * total and of math.exp(m - top) * value.",
    ),
)
