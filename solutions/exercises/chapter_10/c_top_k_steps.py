"""Exercise 10c: top-k with error feedback, step by step."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from course_lib.grading.exercise import Case
from course_lib.grading.exercises.chapter_10.shared import largest_first, sent_of, ties
from course_lib.grading.exercises.common import Reasons, function_exercise

__all__ = ["EXERCISE"]


# Cases


def trainings(rng: np.random.Generator) -> Iterator[Case]:
    """Gradients of several steps, whole numbers; of what is wanted the k largest are always clear."""
    calls: list[tuple[list[list[int]], int]] = [
        ([[5, -4, 1], [1, -3, 2], [0, 0, 0]], 1),
        ([[7, -2, 5, -9]], 2),
        ([[3, -1], [-2, 4]], 2),
    ]
    for length, steps, k in ((4, 3, 1), (6, 5, 2), (8, 6, 3)):
        while ties(gradients := rng.integers(-20, 21, (steps, length)).tolist(), k):
            pass
        calls.append((gradients, k))
    yield Case(1, calls, [_slip(*call) for call in calls], label="gradients of one to six steps")


# Diagnoses


def reasons(gradients: list[list[int]], k: int) -> Reasons:
    call = gradients, k
    sent, residual = _slip(*call)
    yield "What is left out must be added to the next gradient", _slip(*call, feedback=0)
    forgotten = [_slip(*call, feedback=0)[0], [0] * len(residual)]
    yield "What is left out must be kept, and added to the next gradient", forgotten
    of_gradient = _slip(*call, keep=lambda gradient, wanted, sent, before: gradient - sent)
    yield "The residual is the gradient *and the earlier residual*, less what was sent", of_gradient
    again = _slip(*call, keep=lambda gradient, wanted, sent, before: before + wanted - sent)
    yield "The earlier residual is in what was wanted: do not add it to the new residual again", again
    yield "What was sent no longer waits: take it off", _slip(*call, keep=lambda gradient, wanted, sent, before: wanted)
    yield "The largest *magnitudes* travel: -9 is larger than 7", _slip(*call, size=lambda row: row)
    yield "The largest magnitudes travel, not the smallest", _slip(*call, size=lambda row: -abs(row))
    yield "Choose among the sums of gradient and residual, not among the gradients", _slip(*call, by_gradient=True)
    places = [[i for i, x in enumerate(row) if x] for row in sent]
    short = [[row[i] for i in chosen] for row, chosen in zip(sent, places, strict=True)]
    yield "A row that was sent is as long as a gradient, with 0 where nothing travels", _sends(short)
    yield "Only the rows are here: return them and the last residual", sent
    yield "Numbers are chosen by their magnitudes, and sent with their signs", [np.abs(sent).tolist(), residual]
    yield "What waited in a place that is chosen travels along: send the sum", _slip(*call, gradient_alone=True)
    yield "Return what was sent, then the residual after the last step", [residual, sent]


def _slip(
    gradients: list[list[int]],
    k: int,
    *,
    feedback: int = 1,
    keep: Callable[..., np.ndarray] = lambda gradient, wanted, sent, before: wanted - sent,
    size: Callable[[np.ndarray], np.ndarray] = np.abs,
    by_gradient: bool = False,
    gradient_alone: bool = False,
) -> list:
    """[what each step sent, the last residual], or with one mistake."""
    residual, rows = np.zeros(len(gradients[0]), dtype=int), []
    for gradient in map(np.array, gradients):
        wanted = gradient + feedback * residual
        order = largest_first(gradient if by_gradient else wanted, size)
        sent = sent_of(gradient if gradient_alone else wanted, order[:k])
        residual = keep(gradient, wanted, sent, residual)
        rows.append(sent.tolist())
    return [rows, residual.tolist()]


def _sends(rows: list[list[int]]) -> Callable[[list], str | None]:
    """Whether the rows that were sent have these numbers, whatever their order."""
    return lambda came: None if list(map(sorted, came[0])) == list(map(sorted, rows)) else "has other rows"


# The exercise

EXERCISE = function_exercise(
    id="10c",
    title="Nothing may be lost",
    function="top_k_steps",
    points=4,
    cases=trainings,
    reasons=reasons,
    hints=(
        "In each step: wanted = gradient + residual; some of it is sent; the rest is the next residual.",
        "sorted(range(len(wanted)), key=lambda i: -abs(wanted[i]))[:k] gives the places of the k largest.",
        "Sent: wanted[i] in these places, 0 elsewhere. Residual: wanted[i] - sent[i]. The first residual is all 0.",
    ),
)
