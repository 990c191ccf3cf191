"""Exercise 03g: reads of both halves of the parameters that never mix two versions."""

from collections.abc import Callable, Iterator
from itertools import pairwise
from math import inf
from typing import Any

import numpy as np
import torch

from course_lib.comm.network import Network
from course_lib.comm.trace import Trace
from course_lib.grading import rules
from course_lib.grading.exercise import ANYTHING, NUMBERS, WIDE, Case, Outcome, Rule, whole_numbers
from course_lib.grading.exercises.chapter_03.shared import PATIENCE_S, stuck_of, with_details, wrong_letter
from course_lib.grading.exercises.common import rank_exercise

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
        versions = [whole_numbers(rng, 2 * half, most=WIDE)]
        gradients = torch.stack([whole_numbers(rng, 2 * half, most=WIDE) for _ in WRITES])
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


MAX_READ_MESSAGES = 120  # of one read: twenty times both halves
REST_S = 1.5  # that a reader may wait before it asks again


def asks_at_once(case: Case, trace: Trace) -> str | None:
    """A read begins when it is asked for, and goes on until it is done: to wait until the writer rests is no read."""
    for rank in range(3, case.world_size):
        times = case.inputs[rank][2]
        began = [m.start_s for m in trace.messages if m.src == rank]
        ended = sorted(m.end_s for m in trace.messages if rank in (m.src, m.dst))
        for number, at_s in enumerate(times):
            until_s = times[number + 1] if number + 1 < len(times) else float("inf")
            first_s = min((start_s for start_s in began if start_s > at_s - PATIENCE_S), default=at_s)
            if first_s > at_s + PATIENCE_S:
                return (
                    f"rank {rank} should have begun a read at {at_s:g} s, and asked nobody before {first_s:.4g} s. To "
                    "wait until the writer rests is no way to read: another writer may never rest"
                )
            mine = [end_s for end_s in ended if at_s - PATIENCE_S < end_s < until_s]
            gap = max(((b - a, a) for a, b in pairwise(mine)), default=(0.0, at_s))
            if gap[0] > REST_S:
                return (
                    f"in the read at {at_s:g} s rank {rank} rested for {gap[0]:.3g} s, from {gap[1]:.4g} s on. Ask "
                    "again at once, or after a short while; or ask for the version that both servers have"
                )
    return None


def read_messages(case: Case) -> int:
    """Those of the writer and of goodbyes, and of every read as many as of a reader that asks again and again."""
    reads = sum(len(inputs[2]) for inputs in case.inputs[3:])
    return 4 * len(WRITES) + 2 * (case.world_size - 2) + MAX_READ_MESSAGES * reads


def from_both_servers(case: Case, trace: Trace) -> str | None:
    """A reader has both halves from their servers, for each of its reads."""
    for rank in range(3, case.world_size):
        reads = len(case.inputs[rank][2])
        for server in (0, 1):
            if trace.link_bytes[server][rank] < reads * case.message_bytes:
                return f"rank {rank} read {reads} times, and server {server} did not send it that many parts"
    return None


def asked_too_early(case: Case, outcome: Outcome) -> str | None:
    """A version was asked for that the server does not have yet."""
    failure = outcome.failure
    if failure is None or failure.cause != "IndexError" or failure.rank not in (0, 1):
        return None
    return (
        f"server {failure.rank} was asked for a version that it has not made yet. Both have the older of the two "
        "versions: ask the server that is ahead for that one"
    )


def _reader_stays(case: Case, outcome: Outcome) -> str | None:
    """All readers have returned, and the servers wait for them."""
    stuck = stuck_of(outcome)
    if not stuck or not set(range(2, case.world_size)) <= stuck.finished:
        return None
    return with_details("all have ended but the servers, and nobody told them: leave(comm) comes last", outcome)


READ_FAILURES = (wrong_letter, _reader_stays)


def torn(case: Case, outcome: Outcome) -> str | None:
    """What is wrong with a row, and what its reader had asked for if it is torn."""
    if outcome.failure is not None:
        return None
    for rank in range(3, case.world_size):
        times, looks, rows = case.inputs[rank][2], case.expected[rank], outcome.values[rank]
        for (at_s, end_s), look, row in zip(pairwise([*times, inf]), looks, rows, strict=True):
            text = look(row)
            if text:
                asked = [m.dst for m in outcome.trace.messages if m.src == rank and at_s <= m.start_s < end_s]
                return f"a row of rank {rank} {text}" + f". {_how_it_asked(asked)}" * ("torn" in text)
    return None


def _how_it_asked(asked: list[int]) -> str:
    named = ", ".join(map(str, asked[:8])) + ", ..." * (len(asked) > 8)
    text = f"It asked servers {named}, in this order"
    if len(asked) == 2:
        return f"{text}: look at the two versions before you trust them"
    if asked[:4] == [0, 0, 1, 1]:
        return f"{text}: each server agrees with itself; they have to agree with each other"
    return f"{text}: what you ask for last may be newer again. Look at the versions once more"


MISTAKES = r"""
... a version that it has not made yet
    max(versions) -> min(versions)
    ahead], min(versions) -> ahead], max(versions)
... they have to agree with each other
    versions = [pull(comm, server, parts[server]) for server in (0, 1)] -> versions = [0, 0]\n        for server in (0, 1):\n            while pull(comm, server, parts[server]) != pull(comm, server, parts[server]):\n                pass
... leave(comm) comes last
    leave(comm)\n -> \n
... servers 0, 1, 1, in this order
    max(versions) -> min(versions)
    parts[ahead], min(versions) -> parts[ahead]
... look at the two versions before you trust them
    versions[0] != versions[1] -> False
... gave version 0, and 1 had long been there
    pull(comm, server, parts[server]) -> pull(comm, server, parts[server], version=0)
... no way to read
    wait_until(comm, at_s) -> wait_until(comm, 70.0)
    versions[0] != versions[1] -> False
"""

EXERCISE = rank_exercise(
    __name__,
    cases=whole_reads,
    dtypes=NUMBERS,
    answer="return",
    rules=(rules.max_messages(read_messages), Rule(from_both_servers), Rule(asks_at_once)),
    mistakes=MISTAKES,
    diagnoses=(asked_too_early, *READ_FAILURES, torn),
    perturbation=None,
    clock=True,
    network=Network(latency_s=0.05, bytes_per_s=1e9),
    hints="""
pull(comm, server, part) returns the version of what it wrote into `part`. Two versions that differ are a torn read. Two that are equal are a whole one, for a version never changes.
One way: while the versions differ, pull again from the server that is behind. It must be a loop: the other server may be behind by then.
Another way: servers remember. pull(comm, server, part, version) asks for an old version: ask the server that is ahead for what the other one has. Once is enough. Why?
""",
)
