"""Exercise 06a: when each forward pass ends, where stages take different times."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate

import numpy as np

from course_lib.grading.exercise import Case
from course_lib.grading.exercises.common import Reasons, function_exercise
from course_lib.pipeline.schedules import gpipe
from course_lib.pipeline.timing import OperationTimes, pipeline_timeline

__all__ = ["EXERCISE"]


# Cases


def pipelines(rng: np.random.Generator) -> Iterator[Case]:
    """Times of the stages, and how many micro-batches."""
    calls: list[tuple[list[int], int]] = [([2, 3, 1], 4), ([5], 3), ([4, 1], 1)]
    for stages in (2, 4, 6):
        calls.append((rng.integers(1, 20, stages).tolist(), int(rng.integers(3, 7))))
    yield Case(1, calls, [_ends(*call) for call in calls], label="ends of forward passes")


def _ends(stage_times: list[int], micro_batches: int) -> list[list[float]]:
    """From the library's timeline, which its tests hold against runs."""
    times = OperationTimes(shares=tuple(stage_times))
    timeline = pipeline_timeline(gpipe(len(stage_times), micro_batches), times)
    return [[timed.end_s for timed in rank[:micro_batches]] for rank in timeline.ranks]


# Diagnoses


def reasons(stage_times: list[int], micro_batches: int) -> Reasons:
    right, numbers = _ends(stage_times, micro_batches), range(micro_batches)
    passed = list(accumulate(stage_times))
    yield (
        "A stage does one micro-batch after the other: it also waits until it is free",
        [[end for _ in numbers] for end in passed],
    )
    alone = [[t * (number + 1) for number in numbers] for t in stage_times]
    yield "A stage cannot begin before the stage in front of it has ended with this micro-batch", alone
    step = max(stage_times)
    lockstep = [[(stage + number + 1) * step for number in numbers] for stage in range(len(stage_times))]
    yield "Stages do not keep step with the slowest one: each begins as soon as it can", lockstep
    yield (
        "A micro-batch need not wait until the one before it has left the last stage",
        [[number * passed[-1] + end for number in numbers] for end in passed],
    )
    yield (
        "A stage waits for every micro-batch, not only for the first",
        [[end + number * t for number in numbers] for end, t in zip(passed, stage_times, strict=True)],
    )
    yield (
        "A slow stage holds up those behind it, and none in front of it",
        [[end + number * step for number in numbers] for end in passed],
    )
    begins = [[end - t for end in ends] for ends, t in zip(right, stage_times, strict=True)]
    yield "Those are the times at which the passes begin; asked for is when they end", begins
    summed = [[0] * micro_batches for _ in stage_times]
    for stage, t in enumerate(stage_times):
        for number in numbers:
            arrived = summed[stage - 1][number] if stage else 0
            summed[stage][number] = arrived + (summed[stage][number - 1] if number else 0) + t
    yield "Both waits go on at the same time: the later of the two counts, not their sum", summed
    yield "[[0] * n] * m holds one list m times: make each row anew", [right[-1]] * len(right)
    yield "Asked for is a list for each stage, of the ends of all micro-batches", [row[-1] for row in right]
    yield "Asked for is a list for each stage, not one for all", [end for row in right for end in row]
    yield "That is a list for each micro-batch; asked for is one for each stage", list(map(list, zip(*right)))  # noqa: B905


# The exercise

EXERCISE = function_exercise(
    id="06a",
    title="Who waits",
    function="forward_ends",
    points=4,
    cases=pipelines,
    reasons=reasons,
    hints=(
        "For what two things does a stage wait before it begins with a micro-batch?",
        "Until it has ended with the micro-batch before, and until the stage before has ended with this one.",
        "end[stage][i] = max(end[stage][i - 1], end[stage - 1][i]) + stage_times[stage], with 0 for what is not there.",
    ),
)
