"""Exercise 08d: a dynamic loss scale, step by step."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from course_lib.grading.exercise import Case
from course_lib.grading.exercises.common import Reasons, function_exercise
from course_lib.precision.loss_scaling import DynamicScaler

__all__ = ["EXERCISE"]


# Cases


def trainings(rng: np.random.Generator) -> Iterator[Case]:
    """Lists of steps that overflow or do not: long runs of good ones, several overflows in a row, none at all."""
    calls: list[tuple[list[bool], float, int]] = [
        ([False, False, False, True, False], 8.0, 2),
        ([True, True, True, False], 2.0, 3),
        ([False] * 7, 2.0**15, 3),
        ([], 2.0**16, 2000),
    ]
    for interval in (1, 2, 4):
        drawn = rng.random(int(rng.integers(8, 16))) < 0.25
        calls.append(([*map(bool, drawn), *[False] * interval], 2.0 ** int(rng.integers(4, 17)), interval))
    yield Case(1, calls, [_scales(*call) for call in calls], label="steps that overflow or do not")


def _scales(overflows: Sequence[bool], scale: float, interval: int) -> list:
    scaler, scales = DynamicScaler(scale, interval), []
    for overflow in overflows:
        scales.append(scaler.scale)
        scaler.update(not overflow)
    return [scales, overflows.count(False)]


# Diagnoses


def reasons(overflows: Sequence[bool], scale: float, interval: int) -> Reasons:
    call = overflows, scale, interval
    scales, updates = _scales(*call)
    yield "A step that overflows is skipped: it is no update", [scales, len(overflows)]
    yield "Asked for is the number of updates, not of skipped steps", [scales, len(overflows) - updates]
    after = _scales([*overflows, False], scale, interval)[0]
    doubled = sum(new > old for old, new in itertools.pairwise(after))
    yield "An update is one of the weights, not of the scale", [scales, doubled]
    used = "A list holds the scale that each step *used*, before it changed"
    yield used, [after[1:], updates]
    yield used, [[min(pair) for pair in itertools.pairwise(after)], updates]
    yield "One scale for each step: the last step is not followed by another", [after, updates]
    yield "Asked for are both, [scales, updates]", scales
    yield "In the order scales, updates", [updates, scales]
    yield "The scale has no lower end: half of 1 is 0.5", [_slip(*call, least=1.0), updates]
    yield "Half of a scale is not always whole: half of 1 is 0.5", [_slip(*call, whole=True), updates]
    yield "After an overflow the good steps are counted from 0 again", [_slip(*call, restart=False), updates]
    yield "After the scale has doubled the good steps are counted from 0 again", [_slip(*call, anew=False), updates]
    yield "It doubles after `interval` good steps in a row, not after one more", [_slip(*call, late=1), updates]
    yield "An overflow halves the scale", [_slip(*call, factor=1.0), updates]
    yield "Good steps in a row double the scale", [_slip(overflows, scale, len(overflows) + 1), updates]


def _slip(
    overflows: Sequence[bool],
    scale: float,
    interval: int,
    *,
    restart: bool = True,
    anew: bool = True,
    late: int = 0,
    factor: float = 0.5,
    least: float = 0.0,
    whole: bool = False,
) -> list[float]:
    """The scales with one mistake."""
    good, scales = 0, []
    for overflow in overflows:
        scales.append(scale)
        if overflow:
            scale, good = max(least, scale * factor), 0 if restart else good
            scale = scale // 1 if whole else scale
            continue
        good += 1
        if good >= interval + late:
            scale, good = scale * 2, 0 if anew else good
    return scales


# The exercise

EXERCISE = function_exercise(
    id="08d",
    title="A loss scale that finds itself",
    function="loss_scales",
    points=4,
    cases=trainings,
    reasons=reasons,
    hints=(
        "Two numbers change from step to step: the scale, and how many good steps there were in a row.",
        "Note the scale first, then look at the step. Both an overflow and a doubling set the count to 0.",
        "if overflow: scale /= 2; good = 0. else: good += 1; updates += 1; if good == interval: scale *= 2; good = 0.",
    ),
)
