"""Exercise 06e: of how many micro-batches each rank holds activations at most."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate, groupby

import numpy as np

from course_lib.grading.exercise import Case
from course_lib.grading.exercises.chapter_06.shared import MANY, TWO_DIGITS, Words, as_schedule, taken_apart, words_of
from course_lib.grading.exercises.common import Reasons, function_exercise
from course_lib.pipeline.schedule import peak_in_flight
from course_lib.pipeline.schedules import gpipe, one_forward_one_backward, zero_bubble_h1, zero_bubble_h2

__all__ = ["EXERCISE"]


# Cases


def schedules(rng: np.random.Generator) -> Iterator[Case]:
    """With W and without; one with a rank that holds most in its middle."""
    calls = [(words_of(zero_bubble_h1(3, 4)),), ([["F0", "F1", "B0", "F2", "F3", "B1", "B2", "B3"]],)]
    calls.append(([["F0", "B0", "W0", "F1", "F2", "B1", "W1", "B2", "W2"]],))
    for make in (one_forward_one_backward, gpipe, zero_bubble_h2):
        stages = int(rng.integers(2, 5))
        calls.append((words_of(make(stages, stages + int(rng.integers(1, 5)))),))
    calls += [(_drawn(rng, 1, 8, ""),), (words_of(gpipe(2, MANY)),)]
    calls += [(_drawn(rng, int(rng.integers(1, 5)), int(rng.integers(8, 15)), each),) for each in ("", "W", "", "W")]
    yield Case(1, calls, [_peaks(*call) for call in calls], label="activations that are held")


def _drawn(rng: np.random.Generator, ranks: int, micro_batches: int, weights: str) -> Words:
    """So many ranks' micro-batches in orders drawn at random, with W or without."""
    words: Words = []
    for _ in range(ranks):
        done, mine = dict.fromkeys("FB" + weights, 0), list[str]()
        while min(done.values()) < micro_batches:
            before = dict(zip("FBW", (micro_batches, done["F"], done["B"]), strict=True))
            kind = str(rng.choice([kind for kind, count in done.items() if count < before[kind]]))
            mine.append(f"{kind}{done[kind]}")
            done[kind] += 1
        words.append(mine)
    return words


def _peaks(words: Words) -> list[int]:
    return peak_in_flight(as_schedule(words, 1 + max(int(word[1:]) for word in words[0])))


# Diagnoses


def _held(words: Words, freeing: str, counted: str = "FBW") -> list[int]:
    """The peaks if these kinds free a micro-batch, and one looks only after operations of the counted kinds."""
    peaks = []
    for rank in words:
        held = peak = 0
        for word in rank:
            held += (word[0] == "F") - (word[0] in freeing)
            peak = max(peak, held) if word[0] in counted else peak
        peaks.append(peak)
    return peaks


def _by_digit(words: Words, freeing: str) -> list[int]:
    """The peaks of who knows a micro-batch by the first digit of its number."""
    peaks = []
    for rank in words:
        held, peak = set[str](), 0
        for word in rank:
            held = held | {word[1]} if word[0] == "F" else held - {word[1]} if word[0] == freeing else held
            peak = max(peak, len(held))
        peaks.append(peak)
    return peaks


def reasons(words: Words) -> Reasons:
    right, stages = _peaks(words), len(words)
    passes = [sum(word[0] == "F" for word in rank) for rank in words]
    yield "That is every micro-batch: the passes back let go of them, one by one", passes
    yield "W needs the activations, too: where there is a W, it lets go of them, and B does not", _held(words, "B")
    yield "A micro-batch is let go of once: by W where there is one, else by B", _held(words, "BW")
    last = "W" if any(word[0] == "W" for rank in words for word in rank) else "B"
    late = _held(words, last, last)
    yield "Look after each F, too: just before something is let go of, the most is held", late
    runs = [max(len(list(run)) for kind, run in groupby(rank, lambda word: word[0]) if kind == "F") for rank in words]
    yield "The longest run of F is not the most that is held: a rank may add to what it holds later", runs
    formula = [min(passes[rank], stages - rank) for rank in range(stages)]
    yield "That is 1F1B's formula; this schedule is another", formula
    yield TWO_DIGITS, [min(peak, 10) for peak in right]
    yield TWO_DIGITS, _by_digit(words, last)
    yield "Each rank begins with nothing held, and with a peak of its own", list(accumulate(right, max))
    yield "That is the worst rank; asked for is a number for each rank", max(right)


# The exercise

EXERCISE = function_exercise(
    id="06e",
    title="What is held",
    function="peak_held",
    points=3,
    cases=schedules,
    reasons=reasons,
    before=(taken_apart,),
    hints=(
        "Go through a rank's list with one number, how many micro-batches it holds now. Which words change it?",
        "F adds one. If the schedule has W anywhere, W takes one away, and B changes nothing; else B does.",
        "Per rank: held += 1 or -= 1, peak = max(peak, held) after every operation.",
    ),
)
