"""Exercise 06d: how long a step of a schedule takes, and how much of it a rank idles."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from course_lib.grading.exercise import Case
from course_lib.grading.exercises.chapter_06.shared import MANY, Words, as_schedule, taken_apart, words_of
from course_lib.grading.exercises.common import Reasons, function_exercise
from course_lib.pipeline.schedule import Operation, inputs_of
from course_lib.pipeline.schedules import gpipe, one_forward_one_backward
from course_lib.pipeline.timing import OperationTimes, pipeline_timeline

__all__ = ["EXERCISE"]


# Cases


def steps(rng: np.random.Generator) -> Iterator[Case]:
    """GPipe and 1F1B with passes and transfers that take different times."""
    calls: list[tuple[Words, int, int, int]] = [
        (words_of(one_forward_one_backward(3, 4)), 2, 3, 1),
        (words_of(gpipe(2, 3)), 1, 2, 1),
        (words_of(gpipe(1, 2)), 3, 4, 5),
    ]
    for make in (one_forward_one_backward, gpipe, one_forward_one_backward):
        stages, forward, transfer = (int(rng.integers(low, high)) for low, high in ((2, 6), (2, 20), (1, 9)))
        micro_batches = stages + int(rng.integers(1, 5))
        calls.append((words_of(make(stages, micro_batches)), forward, forward + int(rng.integers(1, 9)), transfer))
    calls.append((words_of(gpipe(2, MANY)), 1, 2, 1))
    yield Case(1, calls, [_step(*call) for call in calls], label="steps and bubbles")


def _step(words: Words, forward: float, backward: float, transfer: float) -> list[float]:
    """From the library's timeline, which its tests hold against runs."""
    times = OperationTimes(forward, backward, 0, transfer)
    makespan = pipeline_timeline(as_schedule(words, len(words[0]) // 2), times).makespan_s
    return [makespan, 1 - len(words[0]) // 2 * (forward + backward) / makespan]


# Diagnoses


def _played(words: Words, forward: int, backward: int, transfer: int, own_transfer: int, free: bool = True) -> float:
    """The step if B also got its own F by a transfer, or if a rank were not free while it sends."""
    schedule = as_schedule(words, len(words[0]) // 2)
    left, ends = [list(each) for each in schedule.ranks], dict[Operation, float]()
    clocks = [0.0] * len(left)
    while any(left):
        for rank, operations in enumerate(left):
            while operations and set(needs := inputs_of(operations[0], len(left))) <= set(ends):
                operation = operations.pop(0)
                waits = [ends[n] + (own_transfer if n.stage == rank else transfer * free) for n in needs]
                ends[operation] = max([clocks[rank], *waits]) + (forward if operation.kind == "F" else backward)
                last = len(left) - 1 if operation.kind == "F" else 0
                ends[operation] += transfer * (not free and rank != last)
                clocks[rank] = ends[operation]
    return max(clocks)


def reasons(words: Words, forward: int, backward: int, transfer: int) -> Reasons:
    (step, bubble), stages, work = _step(words, forward, backward, transfer), len(words), forward + backward
    micro_batches = len(words[0]) // 2

    def both(other: float) -> list[float]:
        return [other, 1 - micro_batches * work / other]

    yield "That is the step without transfers", both((micro_batches + stages - 1) * work)
    yield (
        "That is the formula of GPipe's step, where each edge is paid twice; in 1F1B neighbors wait for each other "
        "in every round. Play the schedule",
        both((micro_batches + stages - 1) * work + 2 * (stages - 1) * transfer),
    )
    yield "The bubble is idle time by the whole step, not by the working time", [step, bubble / (1 - bubble)]
    yield "The bubble adds up all ranks; each one idles for a share of the step", [step, stages * bubble]
    travels = _played(words, forward, backward, transfer, transfer)
    yield "B does not wait for a transfer of its own F: that never left the rank", both(travels)
    busy = _played(words, forward, backward, transfer, 0, free=False)
    yield "A transfer keeps nobody busy: a rank goes on while what it gave is under way", both(busy)
    yield "The bubble is a share, from 0 to 1, not in percent", [step, 100 * bubble]
    yield "The bubble is the share that is idle; that is the share that works", [step, 1 - bubble]
    yield "The bubble is idle time by the whole step, a share", [step, bubble * step]
    yield "The order is step, then bubble", [bubble, step]


# The exercise

EXERCISE = function_exercise(
    id="06d",
    title="The bubble",
    function="step_and_bubble",
    points=4,
    cases=steps,
    tolerance=1e-6,
    reasons=reasons,
    before=(taken_apart,),
    hints=(
        "Play the schedule as in c, and note when each operation ends.",
        "An operation begins at the latest of: its rank is free; its own F has ended (for B); the neighbor's "
        "operation has ended, and then `transfer` later it is here.",
        "step = the latest of all ends; bubble = 1 - m (forward + backward) / step, with m micro-batches.",
    ),
)
