"""Exercise 11c: the part of an epoch that one rank reads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from course_lib.grading.exercise import Case
from course_lib.grading.exercises.common import Reasons, function_exercise

__all__ = ["EXERCISE"]

Parts = list[list[int]]


# Cases


def epochs(rng: np.random.Generator) -> Iterator[Case]:
    """Every rank of epochs that divide and that do not; empty shards, more ranks than samples."""
    drawn = rng.integers(1, 30, 6).tolist()
    plans = [([4, 2], 2), ([5, 3, 6], 3), ([7, 0, 4], 2), ([2], 4), ([10], 1), ([6, 7], 5), (drawn, 4)]
    calls = [(lengths, world_size, rank) for lengths, world_size in plans for rank in range(world_size)]
    yield Case(1, calls, [_parts(*call) for call in calls], label="every rank of seven epochs")


def _cut(total: int, world_size: int, rank: int) -> int:
    return total * rank // world_size


def _parts(
    lengths: Sequence[int],
    world_size: int,
    rank: int,
    cut: Callable[[int, int, int], int] = _cut,
    part: Callable[[int, int, int, int], list[int]] = lambda shard, start, first, stop: [shard, first, stop],
) -> Parts:
    """[shard, first, stop] of each shard of which this rank reads something; cut and part may be mistaken ones.

    `part` gets where the shard starts among all samples, too.
    """
    low, high = (cut(sum(lengths), world_size, each) for each in (rank, rank + 1))
    start, found = 0, []
    for shard, length in enumerate(lengths):
        first, stop = max(low - start, 0), min(high - start, length)
        if first < stop:
            found.append(part(shard, start, first, stop))
        start += length
    return found


# Diagnoses


def _other_cuts(lengths: list[int], world_size: int, rank: int) -> Reasons:
    total = sum(lengths)
    each = total // world_size

    def slip(cut: Callable[[int], int]) -> Parts:
        return _parts(lengths, world_size, rank, lambda total, world_size, rank: cut(rank))

    floor = slip(lambda r: r * each)
    yield "Each rank has total // world_size samples there, so the last ones are read by nobody", floor
    remainder = slip(lambda r: total if r == world_size else r * each)
    yield "All that is left over goes to the last rank there: the ranks must differ by one sample at most", remainder
    up = -(-total // world_size)
    yield "Rounding up leaves too little for the last ranks", slip(lambda r: min(total, r * up))
    even = slip(lambda r: r * each + min(r, total % world_size))
    yield "That is fair, but not the cut that is asked for: rank r begins at total * r // world_size", even
    near = slip(lambda r: round(total * r / world_size))
    yield "total * r // world_size rounds down, it does not round to the nearest", near


def reasons(lengths: list[int], world_size: int, rank: int) -> Reasons:
    yield from _other_cuts(lengths, world_size, rank)
    from_all = _parts(lengths, world_size, rank, part=lambda s, start, a, b: [s, start + a, start + b])
    yield "first and stop count within their shard, not from the first sample of all", from_all
    inclusive = _parts(lengths, world_size, rank, part=lambda s, start, a, b: [s, a, b - 1])
    yield "stop is the first place that is not read", inclusive
    counted = _parts(lengths, world_size, rank, part=lambda s, start, a, b: [s, a, b - a])
    yield "The third value is where to stop, not how many", counted
    whole = [[shard, 0, length] for shard, length in enumerate(lengths) if length]
    yield "Whole shards in turn give some ranks more than others", whole[rank::world_size]
    yield "Leave out shards of which the rank reads nothing", _with_empty(lengths, world_size, rank)
    everyones = [_parts(lengths, world_size, r) for r in range(world_size)]
    yield "Those are the parts of all ranks: one of them is asked for", everyones
    cuts = ((s, _cut(length, world_size, rank), _cut(length, world_size, rank + 1)) for s, length in enumerate(lengths))
    yield "Cut every sample's place, not every shard", [[s, first, stop] for s, first, stop in cuts if first < stop]


def _with_empty(lengths: Sequence[int], world_size: int, rank: int) -> Parts:
    """The clamped parts of all shards, the empty ones, too."""
    low, high = (_cut(sum(lengths), world_size, each) for each in (rank, rank + 1))
    starts = [sum(lengths[:shard]) for shard in range(len(lengths))]
    return [
        [shard, min(max(low - start, 0), length), min(max(high - start, 0), length)]
        for shard, (start, length) in enumerate(zip(starts, lengths, strict=True))
    ]


# The exercise

EXERCISE = function_exercise(
    id="11c",
    title="Each sample once",
    function="own_parts",
    points=5,
    cases=epochs,
    reasons=reasons,
    hints=(
        "Number all samples of the epoch from 0. Which numbers are the rank's? Which numbers has a shard?",
        "With start, the first number of a shard, the rank reads from max(low, start) to min(high, start + length).",
        "Take start away from both, and leave the shard out where nothing remains.",
    ),
)
