"""Exercise 06b: the schedule 1F1B."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from course_lib.grading.exercise import Case
from course_lib.grading.exercises.chapter_06.shared import Words, words_of
from course_lib.grading.exercises.common import Reasons, function_exercise, two_factors
from course_lib.pipeline.schedules import gpipe, one_at_a_time, one_forward_one_backward

__all__ = ["EXERCISE"]


# Cases


def sizes(rng: np.random.Generator) -> Iterator[Case]:
    """Stages and micro-batches; once with fewer micro-batches than stages."""
    calls = [(3, 5), (1, 2), (4, 2)]
    calls += [two_factors(rng, 200, 2000, most=4000) for _ in range(4)]
    yield Case(1, calls, [words_of(one_forward_one_backward(*call)) for call in calls], label="orders of 1F1B")


# Diagnoses


def _with_warm_up(warm_ups: list[int], micro_batches: int, capped: bool = True, drained: bool = True) -> Words:
    """So many forward passes on each rank, then one backward and one forward in turn, then what is left."""
    ranks = []
    for warm_up in warm_ups:
        words = [f"F{number}" for number in range(min(warm_up, micro_batches) if capped else warm_up)]
        for number in range(micro_batches):
            forward = number + warm_up < micro_batches
            words += [f"B{number}"] * (drained or forward) + [f"F{number + warm_up}"] * forward
        ranks.append(words)
    return ranks


def _last_first(words: list[str]) -> list[str]:
    """A rank's words if each B took the micro-batch that went forward last."""
    held, turned = list[str](), list[str]()
    for word in words:
        turned.append(word if word[0] == "F" else f"B{held.pop()}")
        held += [word[1:]] * (word[0] == "F")
    return turned


def reasons(stages: int, micro_batches: int) -> Reasons:
    own = [stages - rank for rank in range(stages)]
    yield "That is GPipe's order: after the first B, one B and one F take turns", words_of(gpipe(stages, micro_batches))
    in_order = [[f"{kind}{number}" for kind in "FB" for number in range(micro_batches)]] * stages
    yield "All F before all B holds every micro-batch: one B and one F take turns", in_order
    alone = words_of(one_at_a_time(stages, micro_batches))
    yield "One micro-batch at a time leaves the other ranks idle: begin with more than one F", alone
    fewer = [each - 1 for each in own]
    yield "The last rank would do B0 before F0: every rank begins with one F more", _with_warm_up(fewer, micro_batches)
    more = _with_warm_up([each + 1 for each in own], micro_batches)
    yield "One F too many at the beginning: B comes first when they take turns", more
    right = words_of(one_forward_one_backward(stages, micro_batches))
    yield "Micro-batches are numbered from 0", [[f"{word[0]}{int(word[1:]) + 1}" for word in rank] for rank in right]
    yield 'A rank\'s words stand in a list, each by itself: ["F0", "B0"]', [" ".join(rank) for rank in right]
    yield 'Words are texts such as "F0"', [[[word[0], int(word[1:])] for word in rank] for rank in right]
    yield "Micro-batches go back in the order in which they went forward", list(map(_last_first, right))
    equal = _with_warm_up([stages] * stages, micro_batches)
    yield "Not every rank begins with so many F: from rank r on there are stages - r stages", equal
    turned = _with_warm_up(own[::-1], micro_batches)
    yield "Rank 0 waits longest for its first B, so it begins with the most F, and the last rank with one", turned
    yield (
        "There are not always so many micro-batches: see how many F there can be at all",
        _with_warm_up(own, micro_batches, capped=False),
    )
    yield "When no F is left there are still B to do", _with_warm_up(own, micro_batches, drained=False)


# The exercise

EXERCISE = function_exercise(
    id="06b",
    title="1F1B",
    function="one_f_one_b",
    points=5,
    cases=sizes,
    reasons=reasons,
    hints=(
        "How many micro-batches can be on their way between rank r and the end of the pipe? One for each stage.",
        "Rank r begins with stages - r forward passes, or with all there are if that is fewer.",
        "After those: for each micro-batch i do B i, and then the next F if one is left.",
    ),
)
