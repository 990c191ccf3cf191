"""Exercise 07c: the least time of recomputing for a number of slots, by Revolve's recurrence, where layers differ."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import accumulate

import numpy as np

from course_lib.checkpointing.binomial import revolve_closed_form
from course_lib.grading.exercise import Case, Exercise, Outcome
from course_lib.grading.exercises.common import other_call

__all__ = ["EXERCISE"]


# Cases


def chains(rng: np.random.Generator) -> Iterator[Case]:
    """Times and slots; one slot, more slots than layers, and a chain for which nobody can wait without a table."""
    calls = [([4, 1, 3, 5, 2, 7, 3, 2], 3), ([2, 1, 4, 1, 3], 1), ([1] * 10, 3), ([5], 2), ([2, 7, 1], 5)]
    for layers, slots in ((9, 2), (14, 3), (20, 4)):
        calls.append((rng.integers(1, 30, layers).tolist(), slots))
    yield Case(1, [*calls, ([1] * 100, 5)], [*(_least(*call) for call in calls), 316], label="the least recomputed")


def _least(times: Sequence[int], slots: int) -> int:
    """The recurrence; for layers that take equally long it is Revolve's."""
    least = _slip(times, slots)
    assert len(set(times)) > 1 or least == times[0] * revolve_closed_form(len(times), slots)
    return least


Least = Callable[[int, int, int], int]  # (from value, to value, slots) -> the least time
Split = Callable[[Least, int, int, int, int], int]  # (least, from, to, slots, j) -> the time of both parts
OneSlot = Callable[[Sequence[int], int, int], int]  # (time passed at each value, from, to) -> the time with one slot


def _revolve(least: Least, start: int, end: int, slots: int, j: int) -> int:
    return least(j, end, slots - 1) + least(start, j, slots)


def _from_the_input(passed: Sequence[int], start: int, end: int) -> int:
    return sum(passed[last] - passed[start] for last in range(start, end))


def _slip(
    times: Sequence[int],
    slots: int,
    split: Split = _revolve,
    *,
    way: int = 1,
    one_slot: OneSlot = _from_the_input,
    js: Callable[[int, int], range] = lambda start, end: range(start + 1, end),
) -> int:
    """The least time if these were the parts, the way to j counted so often, and this the time with one slot."""
    passed = [0, *accumulate(times)]

    @cache
    def least(start: int, end: int, slots: int) -> int:
        if end - start <= 1:
            return 0
        if slots <= 1:
            return one_slot(passed, start, end)
        return min(way * (passed[j] - passed[start]) + split(least, start, end, slots, j) for j in js(start, end))

    return least(0, len(times), slots)


# Diagnoses


def reasons(times: list[int], slots: int) -> Iterator[tuple[str, object]]:
    yield from _slips(tuple(times), slots)


@cache
def _slips(times: tuple[int, ...], slots: int) -> list[tuple[str, object]]:
    """Kept: the long chain takes a while, and many answers meet it."""
    return list(_each_slip(times, slots))


def _each_slip(times: Sequence[int], slots: int) -> Iterator[tuple[str, object]]:
    call = times, slots
    yield "The input takes one of the slots", _slip(times, slots + 1)
    yield "Only what is recomputed counts, not the run that stores a layer", _slip(*call) + sum(times)
    yield "That counts layers; asked for is their time", _slip([1] * len(times), slots)
    yield (
        "The middle is not always the best place: try every j",
        _slip(*call, js=lambda start, end: range((start + end) // 2, (start + end) // 2 + 1)),
    )
    yield (
        "When the part behind is done its slot is free again: the layers up to j have all slots",
        _slip(*call, lambda least, start, end, c, j: least(j, end, c - 1) + least(start, j, c - 1)),
    )
    yield (
        "That runs each layer once. The part behind j goes back first, while value j takes a slot: that part has one "
        "slot less. And with one slot each layer is reached from the input anew",
        _slip(*call, lambda least, start, end, c, j: least(j, end, c) + least(start, j, c - 1)),
    )
    yield "To come to value j, layers are run: they take their time", _slip(*call, way=0)
    yield (
        "With one slot, each layer is reached from the input; the run that stores it does not count",
        _slip(*call, one_slot=lambda passed, start, end: _from_the_input(passed, start, end + 1)),
    )
    yield (
        "With one slot, length * (length - 1) / 2 counts runs: here each run takes its layer's time",
        _slip(*call, one_slot=lambda passed, start, end: (end - start) * (end - start - 1) // 2),
    )
    if slots == 1:
        yield "With one slot, too, all layers in front of a layer are run again", 0


def too_slow(case: Case, outcome: Outcome) -> str | None:
    """The recurrence without a table."""
    if outcome.failure is None or outcome.failure.kind != "timeout":
        return None
    times, slots = case.inputs[min(outcome.failure.call, len(case.inputs) - 1)]
    return (
        f"{len(times)} layers and {slots} slots take too long: the same smaller questions are asked again and again. "
        "Keep their answers: put @functools.cache above a function of (start, end, slots), or fill a table. (You do? "
        "With one slot there is nothing left to choose: end there)"
    )


# The exercise

EXERCISE = Exercise(
    id="07c",
    title="Revolve",
    function="least_recomputed",
    points=5,
    cases=chains,
    mode="function",
    answer="return",
    diagnoses=(too_slow, other_call("least_recomputed", reasons)),
    hints=(
        "Which layers are left behind j, and which before it? The smaller questions are about parts of the chain: from "
        "one value to another, with some slots.",
        "least(start, end, slots) is the time from start to j, plus least(j, end, slots - 1), plus least(start, j, "
        "slots): the least over all j. A part of one layer costs nothing.",
        "With one slot: the sum of times[start:last] over all last from start to end - 1. Keep what you have computed: "
        "functools.cache on a function inside, whose arguments are three numbers.",
    ),
)
