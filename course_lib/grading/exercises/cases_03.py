"""Cases of chapter 3: who pushes when, and what every rank must hold; numbers; reads between two writes.

What is expected are the initial parameters less those gradients that the row of letters names (see `schedules_03`),
counts, and, for shards, a bound that many plans keep.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

from course_lib.grading.exercise import ANYTHING, Case, whole_numbers
from course_lib.grading.exercises.diagnoses_03_shards import plan_checker
from course_lib.grading.exercises.schedules_03 import case_of, waiting_row, with_backups

__all__ = [
    "ASYNCHRONOUS",
    "BACKUPS",
    "BOUNDED",
    "RATE",
    "READS",
    "STALE",
    "WRITES",
    "asynchronous",
    "backups",
    "bounded",
    "questions_of_slack",
    "shards",
    "softsyncs",
    "stale",
    "whole_reads",
]

# Order of arrival, workers, elements, trials with a changed message.
ASYNCHRONOUS = (
    ("", 0, 5, 0),
    ("a a a", 1, 5, 0),
    ("a b a a b a", 2, 40, 1),
    ("a b c b b a b c", 3, 41, 1),
    ("b d a c b b d b c", 4, 33, 0),
)
# Capitals count, small letters come late: order, gradients in an update, workers, elements, trials.
BACKUPS = (
    ("A A", 1, 1, 5, 0),
    ("A b A A b", 1, 2, 40, 1),
    ("AB AB c AC b BA c", 2, 3, 41, 1),
    ("ABC AB d D c ACB d", 3, 4, 33, 0),
    ("AB cd CD a b AC b d", 2, 4, 33, 0),
)
# "a:" waits, "b:ba" lets both go on, "!": at once: order, slack, workers, elements, trials.
BOUNDED = (
    ("a a a", 1, 1, 5, 0),
    ("a a: .... b:ab a: b:ab a: b:ab b", 1, 2, 40, 0),
    ("a: b:ab a: b:ab", 0, 2, 40, 0),
    ("a a: b:ab a: b:ab a", 1, 2, 40, 1),
    ("a: b: c:abc b: c: a:abc", 0, 3, 41, 0),
    ("a a a: b c:ac b a: c:ac a a", 2, 3, 41, 1),
    ("a a a a b a a c", 9, 3, 33, 0),
    ("a: b:ab a: b:ab! a", 0, 2, 33, 0),
    ("a: b: c:abc a: b: c:abc! a:! b:ab", 0, 3, 33, 0),
)
# Chosen so that each staleness is 0, 1, 2 or 4: then rate / staleness is exact.
STALE = (
    ("", 0, 5),
    ("a a a", 1, 5),
    ("a b a b b a a a a b", 2, 40),
    ("a b c a b c a b a b c", 3, 41),
)
RATE = 0.5


def asynchronous(rng: np.random.Generator) -> Iterator[Case]:
    """Each gradient is answered at once, with all that has arrived."""
    for row, workers, length, perturb in ASYNCHRONOUS:
        yield case_of(waiting_row(row, workers, rng), length, rng, perturb=perturb)


def backups(rng: np.random.Generator) -> Iterator[Case]:
    """The first gradients of a step make the update, late ones count nowhere."""
    for row, take, workers, length, perturb in BACKUPS:
        schedule = with_backups(row, workers, take, rng)
        extra, label = (take, schedule.updates), f"take {take} of {workers}, {schedule.updates} steps"
        yield case_of(schedule, length, rng, perturb=perturb, extra=extra, spare=2, label=label)


def bounded(rng: np.random.Generator) -> Iterator[Case]:
    """A worker too far ahead is answered when the slowest has come after."""
    for row, slack, workers, length, perturb in BOUNDED:
        schedule = waiting_row(row, workers, rng)
        yield case_of(schedule, length, rng, perturb=perturb, extra=(slack,), label=f"slack {slack}")


def stale(rng: np.random.Generator) -> Iterator[Case]:
    """A gradient counts rate / staleness; the server also tells each staleness."""
    for row, workers, length in STALE:
        schedule = waiting_row(row, workers, rng)
        values = schedule.staleness()
        weights = [RATE / max(value, 1) for value in values]
        case = case_of(schedule, length, rng, extra=(RATE,), weights=weights, multiple=8, label=f"rate {RATE}")
        last, *answers = case.expected
        yield Case(
            case.world_size,
            case.inputs,
            [[last, values], *answers],
            label=case.label,
            about={**case.about, "staleness": values},
        )


def questions_of_slack(rng: np.random.Generator) -> Iterator[Case]:
    """Clocks, a worker, a slack: may it begin its next gradient? Those who left, and the server, are at infinity."""
    calls: list[tuple] = [([float("inf"), 3, 3], 1, 0), ([float("inf"), 4, 3], 1, 0), ([float("inf"), 4, 3], 2, 0)]
    calls.append(([float("inf"), 7], 1, 0))
    for workers in (2, 3, 3, 4, 4, 8):
        slack = int(rng.integers(1, 5))
        slowest = int(rng.integers(0, 30))
        others = [slowest + int(ahead) for ahead in rng.integers(0, slack + 2, workers - 2)]
        for ahead in (slack - 1, slack, slack + 1):
            clocks: list[Any] = [slowest, *others, slowest + ahead]
            order = rng.permutation(workers)
            shuffled = [float("inf"), *(clocks[place] for place in order)]
            me, last = 1 + int(np.argmax(order == workers - 1)), 1 + int(np.argmax(order == 0))
            calls += [(shuffled, me, slack), (shuffled, last, slack)]
        calls.append(([float("inf"), slowest, float("inf"), slowest + slack + 2], 3, slack))
    # These tell apart what is mistaken: everybody, the median, the second smallest, worker 1, a slack of 2.
    calls += [([float("inf"), 0, 0, 0, 0, 9], 5, 1), ([float("inf"), 0, 0, 5, 5, 5], 3, 1)]
    calls += [([float("inf"), 9, 3, 9], 3, 1), ([float("inf"), 3, 0], 1, 4)]
    expected = [clocks[worker] <= min(clocks) + slack for clocks, worker, slack in calls]
    yield Case(1, calls, expected, label="the rule")


def softsyncs(rng: np.random.Generator) -> Iterator[Case]:
    """Counted: gradients in an update, whole updates, and how many updates pass while the others push once each."""
    calls: list[tuple] = [(30, 4, 1000), (30, 15, 1000), (6, 6, 10), (5, 1, 12)]
    for _ in range(4):
        workers = int(rng.integers(8, 64))
        calls.append((workers, int(rng.integers(2, workers)), int(rng.integers(1000, 9999))))
    expected = []
    for workers, n, gradients in calls:
        most = max(c for c in range(1, workers + 1) if c * n <= workers)
        expected.append(
            [most, sum(1 for number in range(1, gradients + 1) if number % most == 0), (workers - 1) / most]
        )
    yield Case(1, calls, expected, label="n-softsync")


def shards(rng: np.random.Generator) -> Iterator[Case]:
    """Rows of tensors that fit exactly: one server takes the biggest, the others as much in small pieces."""
    questions: list[tuple[list[int], int, int]] = [([90, 10, 60, 40], 2, 100), ([7, 5], 3, 7), ([40, 2, 9], 1, 51)]
    questions.append(([40, 40, 7, 7, 7], 2, 54))
    for servers, small in ((2, 6), (3, 5), (4, 7)):
        total = int(rng.integers(1000, 9999))
        cuts = [np.sort(rng.choice(np.arange(1, total), small - 1, replace=False)) for _ in range(servers - 1)]
        pieces = [int(piece) for cut in cuts for piece in np.diff([0, *cut, total])]
        questions.append((sorted([*pieces, total]), servers, total))
        questions.append(([total, *(int(piece) for piece in rng.permutation(pieces))], servers, total))
    questions += questions[-3:]
    seen: dict[str, dict] = {}
    looks = [plan_checker(*question, seen.setdefault(str(question), {})) for question in questions]
    yield Case(1, [question[:2] for question in questions], looks, label="plans")


# Torn reads: for each update when it is at server 0 and at server 1, and for each reader when it reads.
WRITES = ((10.0, 11.0), (21.0, 20.0), (30.0, 30.12), (40.12, 40.0), (50.0, 53.0))
READS = (
    (5.0, 10.5, 20.5, 29.55, 39.55, 50.4, 60.0),
    (9.85, 14.0, 20.4, 29.85, 39.85, 50.9, 60.3),
    (9.6, 10.9, 19.9, 29.7, 39.7, 49.9, 61.0),
)


def whole_reads(rng: np.random.Generator) -> Iterator[Case]:
    """Ranks 0 and 1 hold half of the parameters each, rank 2 writes, the others read."""
    for readers, half in ((1, 8), (2, 20), (3, 20)):
        versions = [whole_numbers(rng, 2 * half)]
        gradients = torch.stack([whole_numbers(rng, 2 * half) for _ in WRITES])
        for gradient in gradients:
            versions.append(versions[-1] - gradient)
        nothing, empty = torch.zeros(0, 2 * half), torch.zeros(half)
        inputs: list[tuple] = [(versions[0][:half].clone(), nothing, []), (versions[0][half:].clone(), nothing, [])]
        inputs.append((empty, gradients, [list(pair) for pair in WRITES]))
        inputs += [(empty, nothing, list(times)) for times in READS[:readers]]
        rows = [[_is_whole(versions, at_s) for at_s in times] for times in READS[:readers]]
        label = f"2 servers, 1 writer, readers: {readers}"
        yield Case(3 + readers, inputs, [ANYTHING] * 3 + rows, label=label)


def _is_whole(versions: list[torch.Tensor], at_s: float) -> Callable[[Any], str | None]:
    """Looks at what a read that began at `at_s` gave: one version of both halves, and no older one than it must be."""
    half = len(versions[0]) // 2
    oldest = sum(max(pair) + 0.5 < at_s for pair in WRITES)

    def look(row: Any) -> str | None:
        if row is None or row.shape != versions[0].shape:
            return f"gave something else than a row of {2 * half} numbers"
        found = [_version_of(row, versions, part) for part in (slice(0, half), slice(half, None))]
        first, second = found
        if torch.equal(row[:half], row[half:]):
            return "has the same numbers in both halves: two pulls into one and the same tensor?"
        if _version_of(row.roll(half), versions, slice(0, half)) is not None:
            return "has server 1's half where server 0's belongs"
        if first is None or second is None:
            return f"holds, in the half of server {found.index(None)}, numbers that this server never had"
        if first != second:
            return f"is torn: the read at {at_s:g} s put version {first} of server 0 beside {second} of server 1"
        if first < oldest:
            return f"is whole, but the read at {at_s:g} s gave version {first}, and {oldest} had long been there"
        return None

    return look


def _version_of(row: torch.Tensor, versions: list[torch.Tensor], part: slice) -> int | None:
    return next((number for number, each in enumerate(versions) if torch.equal(each[part], row[part].float())), None)
