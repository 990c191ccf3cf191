"""Exercise 10g: error feedback for several buckets that finds nothing of what it kept, to be mended."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from course_lib.grading.exercise import Case
from course_lib.grading.exercises.chapter_10.shared import largest_first, sent_of, ties
from course_lib.grading.exercises.common import Reasons, function_exercise

__all__ = ["EXERCISE"]

Steps = list[list[list[int]]]  # for each step its buckets


# Cases


def trainings(rng: np.random.Generator) -> Iterator[Case]:
    """Several buckets, some of equal length, over several steps; what is sent is always clear."""
    calls: list[tuple[Steps, int]] = [
        ([[[4, 3], [-6, 1, 5]], [[2, 1], [1, 1, 2]], [[0, 0], [0, 0, 0]]], 1),
        ([[[5, 2, -7]]], 1),
    ]
    for lengths, steps, k in (((4,), 4, 1), ((4, 4), 4, 1), ((5, 3, 5), 5, 2)):
        buckets = [_rows(rng, length, steps, k) for length in lengths]
        calls.append(([list(step) for step in zip(*buckets, strict=True)], k))
    yield Case(1, calls, [_slip(*call) for call in calls], label="buckets of one to five steps")


def _rows(rng: np.random.Generator, length: int, steps: int, k: int) -> list[list[int]]:
    while ties(rows := rng.integers(-20, 21, (steps, length)).tolist(), k):
        pass
    return rows


# Diagnoses


def reasons(steps: Steps, k: int) -> Reasons:
    call = steps, k
    right = _slip(*call)
    nothing = _slip(*call, keep=lambda bucket, wanted, message, waiting: 0 * bucket)
    yield "That is what it gave before: what waits is never found again. What names a bucket in every step?", nothing
    alone = _slip(*call, keep=lambda bucket, wanted, message, waiting: bucket - message)
    yield (
        "What waited before is forgotten, or taken off twice: a residual is what was *wanted*, less the message",
        alone,
    )
    yield "Every bucket has a residual of its own, also one of two that are equally long", _slip(*call, key=_length)
    again = _slip(*call, keep=lambda bucket, wanted, message, waiting: waiting + wanted - message)
    yield "What waited is in `wanted` already: do not add it to the new residual again", again
    unsent = _slip(*call, keep=lambda bucket, wanted, message, waiting: wanted)
    yield "What was sent no longer waits: take the message off", unsent
    flat = [each for step in right for each in step]
    yield "A list of messages for each step, as the steps have lists of buckets", flat


def _length(number: int, bucket: np.ndarray) -> int:
    return len(bucket)


def _slip(
    steps: Steps,
    k: int,
    *,
    key: Callable[[int, np.ndarray], int] = lambda number, bucket: number,
    keep: Callable[..., np.ndarray] = lambda bucket, wanted, message, waiting: wanted - message,
) -> list:
    """The messages of each step, or with one mistake."""
    residuals: dict[int, np.ndarray] = {}
    sent = []
    for buckets in steps:
        messages = []
        for number, bucket in enumerate(map(np.array, buckets)):
            waiting = residuals.get(key(number, bucket), 0 * bucket)
            wanted = bucket + waiting
            message = sent_of(wanted, largest_first(wanted)[:k])
            residuals[key(number, bucket)] = keep(bucket, wanted, message, waiting)
            messages.append(message.tolist())
        sent.append(messages)
    return sent


# The exercise

EXERCISE = function_exercise(
    id="10g",
    title="Find the bugs",
    function="mended_messages",
    points=3,
    cases=trainings,
    reasons=reasons,
    hints=(
        "Print the keys of `residuals` after each step. How many are there, and how many buckets?",
        "A bucket's place in its step is the same in every step; its address is not. And: less the message, of what?",
        "for number, bucket in enumerate(buckets): the key is number; residuals[number] = wanted - message.",
    ),
)
