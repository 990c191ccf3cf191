"""Exercise 11b: the samples of a shard that may be torn."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from course_lib.grading.exercise import Case, Outcome
from course_lib.grading.exercises.chapter_11.shared import Bytes, record, sample_of
from course_lib.grading.exercises.common import Reasons, function_exercise, too_slow

__all__ = ["EXERCISE"]


# Cases


def shards(rng: np.random.Generator) -> Iterator[Case]:
    """Whole shards, and shards torn within a sample, right before it, and within its length."""
    three = [number for size in (2, 0, 3) for number in record(sample_of(rng, size))]
    long = record(sample_of(rng, 2)) + record(sample_of(rng, 256 + int(rng.integers(20))))
    calls = [([0, 2, 7, 8, 0, 1, 9],), ([0, 2, 7, 8, 0, 3, 9],), (three,), ([],), ([0],)]
    calls += [(three[:-1],), (three[:6],), (three[:7],), (record(sample_of(rng, 4))[:2],), (record([]),), (long,)]
    yield Case(1, calls, [_unpacked(*call) for call in calls], label="eleven shards, some of them torn")


def _unpacked(shard: Bytes, length: Callable[[int, int], int] = lambda high, low: 256 * high + low) -> list:
    """[samples that are whole, how many bytes are left behind them]; length(high, low) may be a mistaken one."""
    samples, place = [], 0
    while place + 2 <= len(shard) and (stop := place + 2 + length(*shard[place : place + 2])) <= len(shard):
        samples.append(shard[place + 2 : stop])
        place = stop
    return [samples, len(shard) - place]


# Diagnoses


def torn(case: Case, outcome: Outcome) -> str | None:
    """An index beyond the end."""
    failure = outcome.failure
    if failure is None or failure.cause not in ("IndexError", "StopIteration", "ValueError", "struct.error", "error"):
        return None
    return f"A shard may end anywhere, even within a length. {failure.text}"


def reasons(shard: Bytes) -> Reasons:
    samples, rest = _unpacked(shard)
    tail = shard[len(shard) - rest :]
    yield "A sample that is not whole is none", [[*samples, tail[2:]] if rest else samples, 0]
    yield "A sample that is not whole is none", [[*samples, tail[2:]] if rest else samples, rest]
    yield "A sample that is not whole is none", [[*samples, tail[2:]] if rest >= 2 else samples, rest]
    yield "A sample that is not whole is none", [[*samples, tail[2:]] if rest >= 2 else samples, 0]
    yield "Count the bytes that are left: those of a length, too", [samples, max(0, rest - 2)]
    yield "The second value is how many bytes are left behind the whole samples", [samples, tail]
    yield "The second value is a number of bytes", [samples, bool(rest)]
    yield "A torn shard has a rest", [samples, 0]
    missing = 2 + 256 * tail[0] + tail[1] - rest if rest >= 2 else 0
    for each in (missing, 1 if rest == 1 else missing):
        yield "How many bytes stand there behind the whole samples, not how many are missing", [samples, each]
    yield "Each sample is a list of its own", [[number for each in samples for number in each], rest]
    yield "An empty sample is a sample: after it the shard goes on", _until_empty(shard)
    full = [each for each in samples if each]
    yield "An empty sample is a sample, too", [full, rest]
    yield "One torn sample at the end does not spoil the others", [[] if rest else samples, len(shard) if rest else 0]
    yield "That leaves out the high byte of a length", _unpacked(shard, lambda high, low: low)
    yield "The high byte of a length comes first", _unpacked(shard, lambda high, low: high + 256 * low)
    yield "The sample begins behind the two bytes of its length", _with_lengths(shard)


def _with_lengths(shard: Bytes) -> list:
    samples, rest = _unpacked(shard)
    return [[record(each) for each in samples], rest]


def _until_empty(shard: Bytes) -> list:
    samples, _ = _unpacked(shard)
    if [] in samples:
        samples = samples[: samples.index([])]
    return [samples, len(shard) - sum(2 + len(each) for each in samples)]


# The exercise

EXERCISE = function_exercise(
    id="11b",
    title="Read shards",
    function="unpack",
    points=4,
    cases=shards,
    reasons=reasons,
    before=(
        too_slow("unpack", "Does the place move on after every sample, and does the loop end where the shard does?"),
        torn,
    ),
    hints=(
        "Keep a place in the shard. There is a length only if place + 2 is at most len(shard).",
        "Where does the sample end? At place + 2 + its length. If that is beyond the shard, it is torn.",
        "What is left is len(shard) - place, whichever way the loop ended.",
    ),
)
