"""Rules of chapter 3: nobody waits longer than it must, and no more bytes cross than the protocol needs."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from course_lib.comm.trace import Message, Trace
from course_lib.grading.exercise import Case

__all__ = [
    "PATIENCE_S",
    "asks_at_once",
    "answers_to",
    "from_both_servers",
    "gradients_of",
    "on_time",
    "protocol_bytes",
    "stale_bytes",
]

NOTE_BYTES = 8
PATIENCE_S = 0.5
REST_S = 1.5  # that a reader may wait before it asks again


def _counts(case: Case) -> tuple[int, int, int]:
    """How many gradients are pushed, how many parameters come back, and how many workers there are."""
    schedule, held = case.about["schedule"], case.about["held"]
    return len(schedule.arrivals), sum(map(len, held[1:])), schedule.workers


def protocol_bytes(case: Case) -> int:
    """A note and a gradient for each push, parameters for each answer, a note of each worker that leaves, and, where
    there are steps, a note with every answer."""
    pushes, answers, workers = _counts(case)
    notes = pushes + workers + (answers if case.about["schedule"].updates is not None else 0)
    return notes * NOTE_BYTES + (pushes + answers) * case.message_bytes


def stale_bytes(case: Case) -> int:
    """A row and up to two numbers for each push, each answer and each goodbye."""
    pushes, answers, workers = _counts(case)
    return (pushes + answers + workers) * (case.message_bytes + 2 * NOTE_BYTES)


def on_time(case: Case, trace: Trace) -> str | None:
    """Every answer leaves when it may."""
    due = case.about["schedule"].answer_s()
    for rank, times in due.items():
        for number, (message, at_s) in enumerate(zip(answers_to(case, trace, rank), times, strict=False)):
            if message.start_s > at_s + PATIENCE_S:
                return (
                    f"the answer to gradient {number} of rank {rank} left at {message.start_s:.3g} s; it could have "
                    f"left at {at_s:.3g} s, and nobody should wait without need"
                )
    return None


def answers_to(case: Case, trace: Trace, rank: int) -> Iterator[Message]:
    """The messages with parameters that this worker was answered with, in order."""
    return (m for m in trace.messages if m.src == 0 and m.dst == rank and m.message_bytes >= case.message_bytes)


def gradients_of(case: Case, trace: Trace, rank: int) -> Iterator[Message]:
    """The messages with gradients of this worker, in order."""
    return (m for m in trace.messages if m.src == rank and m.dst == 0 and m.message_bytes >= case.message_bytes)


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


def from_both_servers(case: Case, trace: Trace) -> str | None:
    """A reader has both halves from their servers, for each of its reads."""
    for rank in range(3, case.world_size):
        reads = len(case.inputs[rank][2])
        for server in (0, 1):
            if trace.link_bytes[server][rank] < reads * case.message_bytes:
                return f"rank {rank} read {reads} times, and server {server} did not send it that many parts"
    return None
