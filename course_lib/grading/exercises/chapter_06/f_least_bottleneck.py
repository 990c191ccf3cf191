"""Exercise 06f: where to cut the layers into stages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise

import numpy as np

from course_lib.grading.exercise import Case
from course_lib.grading.exercises.common import Reasons, function_exercise, too_slow

__all__ = ["EXERCISE"]


# Cases


def networks(rng: np.random.Generator) -> Iterator[Case]:
    """Times of the layers and of sending what lies between them; one network is too long to try all cuts."""
    calls: list[tuple[list[int], list[int], int]] = [
        ([3, 4, 2, 6, 4], [9, 1, 8, 10], 3),
        ([7, 2], [30], 1),
        ([9, 1, 1, 1], [1, 20, 1], 3),
        ([1, 2, 3], [9, 4], 3),
    ]
    for layers, stages in ((6, 2), (9, 4), (40, 12)):
        calls.append((rng.integers(1, 40, layers).tolist(), rng.integers(1, 60, layers - 1).tolist(), stages))
    yield Case(1, calls, [_least(*call) for call in calls], label="the least bottleneck")


def _least(times: Sequence[int], transfers: Sequence[int], stages: int) -> int:
    """The recurrence of PipeDream's partitioner without replication; by all cuts where these are few.

    Source: Harlap et al., "PipeDream", arXiv 1806.03377, section 3.2.
    """
    best = [sum(times[: end + 1]) for end in range(len(times))]
    for stage in range(1, stages):
        best = [
            min(
                (max(best[cut - 1], transfers[cut - 1], sum(times[cut : end + 1])) for cut in range(stage, end + 1)),
                default=10**9,
            )
            for end in range(len(times))
        ]
    if len(times) < 10:
        cuts = combinations(range(1, len(times)), stages - 1)
        assert best[-1] == min(_bottleneck(times, transfers, each) for each in cuts)
    return best[-1]


def _stages(times: Sequence[int], cuts: Sequence[int]) -> list[int]:
    """How long each stage takes; a cut c lies before layer c."""
    ends = [0, *cuts, len(times)]
    return [sum(times[start:stop]) for start, stop in pairwise(ends)]


def _bottleneck(times: Sequence[int], transfers: Sequence[int], cuts: Sequence[int]) -> int:
    return max([*_stages(times, cuts), *(transfers[cut - 1] for cut in cuts)])


# Diagnoses


def reasons(times: list[int], transfers: list[int], stages: int) -> Reasons:
    free = [0] * len(transfers)
    yield "That leaves out the transfers", _least(times, free, stages)
    equal = [number * len(times) // stages for number in range(1, stages)]
    yield "As many layers in each stage need not be best: layers differ", _bottleneck(times, transfers, equal)
    yield (
        "That fills one stage after the other up to the mean; a cut that costs a little there may save more later",
        _bottleneck(times, transfers, _filled(times, stages)),
    )
    yield "Layers cannot be cut into pieces: the mean is only a bound", max(sum(times) / stages, *times)
    yield (
        "Every rank gets a layer: fewer stages are not allowed",
        min(_least(times, transfers, fewer) for fewer in range(1, stages + 1)),
    )
    words = "The transfer at a cut before layer i is transfers[i - 1]"
    for behind in (0, transfers[-1]):
        yield words, _least(times, [*transfers[1:], behind], stages)
    if len(times) < 10:
        cuts = list(combinations(range(1, len(times)), stages - 1))
        for before in (False, True):
            yield (
                "A transfer goes on while the stages compute: the slowest counts, "
                "not a stage and its transfer together",
                min(_added(times, transfers, each, before) for each in cuts),
            )
        balanced = min(cuts, key=lambda each: max(_stages(times, each)))
        yield (
            "That balances the stages first and looks at the transfers afterwards; a cut elsewhere may be cheaper",
            _bottleneck(times, transfers, balanced),
        )


def _filled(times: Sequence[int], stages: int) -> list[int]:
    """Cuts of the greedy way: a new stage where the mean is passed, or where every layer left must have its own."""
    cuts, filled = list[int](), times[0]
    for layer in range(1, len(times)):
        left = stages - 1 - len(cuts)
        if left and (filled + times[layer] > sum(times) / stages or len(times) - layer == left):
            cuts, filled = [*cuts, layer], 0
        filled += times[layer]
    return cuts


def _added(times: Sequence[int], transfers: Sequence[int], cuts: Sequence[int], before: bool) -> int:
    sends = [transfers[cut - 1] for cut in cuts]
    sends = [0, *sends] if before else [*sends, 0]
    return max(time + send for time, send in zip(_stages(times, cuts), sends, strict=True))


# The exercise

EXERCISE = function_exercise(
    id="06f",
    title="Where to cut",
    function="least_bottleneck",
    points=5,
    cases=networks,
    reasons=reasons,
    before=(
        too_slow(
            "least_bottleneck",
            "40 layers can be cut into 12 stages in 1.7 billion ways: keep the best of every smaller question",
        ),
    ),
    hints=(
        "Suppose you know where the last cut lies. What is the bottleneck then, and which smaller question is left?",
        "best(layers, stages) for the first so many layers. The last stage is the layers from `cut` on: the bottleneck "
        "is the largest of best(cut, stages - 1), transfers[cut - 1] and the sum of times[cut:layers].",
        "best(layers, 1) = sum(times[:layers]); else the least over all cuts from stages - 1 to layers - 1. Keep what "
        "you have computed (functools.cache).",
    ),
)
