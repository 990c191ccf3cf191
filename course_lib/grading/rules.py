"""Ready-made rules about the wire: each takes the limit as a function of the case and gives a `Rule`.

All messages of an exercise have one of its `dtypes`, so that a limit of bytes is one of elements: nobody gains by
sending the same numbers in fewer bits. Messages without elements carry nothing. A barrier is made of those, so no rule
but `max_messages` counts them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection

from course_lib.comm.trace import Trace
from course_lib.grading.exercise import Case, Rule

Limit = Callable[[Case], float]

MAX_BARRIERS = 4  # of one program beyond one for each of a rank's messages; honest answers need none


def neighbors(allowed: Callable[[int, int], Collection[int]], name: str, costs: float | None = None) -> Rule:
    """Rank r sends only to `allowed(r, world_size)`; `name` says who they are, e.g. "its right neighbor"."""

    def check(case: Case, trace: Trace) -> str | None:
        for message in trace.messages:
            if message.message_bytes and message.dst not in allowed(message.src, case.world_size):
                return (
                    f"rank {message.src} sent {message.message_bytes} bytes to rank {message.dst} in step "
                    f"{message.step}; here a rank sends only to {name}"
                )
        return None

    return Rule(check, costs)


def bytes_per_rank(most: Limit, because: str = "", costs: float | None = None) -> Rule:
    """No rank sends more than `most(case)` bytes."""

    def check(case: Case, trace: Trace) -> str | None:
        limit = most(case)
        for rank, sent in enumerate(trace.bytes_sent):
            if sent > limit:
                return f"rank {rank} sent {sent} bytes, {limit:g} are enough" + (f": {because}" if because else "")
        return None

    return Rule(check, costs)


def total_bytes(most: Limit, because: str = "", costs: float | None = None) -> Rule:
    """All ranks together send no more than `most(case)` bytes."""

    def check(case: Case, trace: Trace) -> str | None:
        limit = most(case)
        if trace.total_bytes <= limit:
            return None
        return f"all ranks together sent {trace.total_bytes} bytes, {limit:g} are enough" + (
            f": {because}" if because else ""
        )

    return Rule(check, costs)


def max_messages(most: Limit, because: str = "", costs: float | None = None) -> Rule:
    """All ranks together send no more than `most(case)` messages, and no more empty ones than barriers need.

    A barrier beside each message is style. But the order and the times of messages say something, too, even if they
    hold nothing; so there is a limit, and a lower one for what is no barrier of all ranks.
    """

    def check(case: Case, trace: Trace) -> str | None:
        limit = most(case)
        sent = sum(message.message_bytes > 0 for message in trace.messages)
        if sent > limit:
            return f"all ranks together sent {sent} messages, {limit:g} are enough" + (
                f": {because}" if because else ""
            )
        empty = Counter(message.src for message in trace.messages if not message.message_bytes)
        barriers = MAX_BARRIERS + (_most_of_a_rank(trace) if _are_barriers(empty, case.world_size) else 0)
        enough = barriers * _rounds(case.world_size)
        for rank in sorted(empty):
            if empty[rank] > enough:
                rule = f"no answer needs more than {enough}, as in {barriers} barriers"
                return f"rank {rank} sent {empty[rank]} messages without elements; {rule}"
        return None

    return Rule(check, costs)


def max_steps(most: Limit, because: str = "", costs: float | None = None) -> Rule:
    """The longest chain of messages, each waiting for the one before, has at most `most(case)` links."""

    def check(case: Case, trace: Trace) -> str | None:
        limit, steps = most(case), _steps(trace)
        if steps <= limit:
            return None
        enough = "is enough" if limit == 1 else "are enough"
        return f"it took {steps} steps one after the other, {limit:g} {enough}" + (f": {because}" if because else "")

    return Rule(check, costs)


def _rounds(world_size: int) -> int:
    """Rounds of a barrier, in each of which every rank sends one empty message."""
    return (world_size - 1).bit_length()


def _are_barriers(empty: Counter[int], world_size: int) -> bool:
    """Whether so many empty messages of each rank can be those of barriers of them all."""
    return len(empty) == world_size and len(set(empty.values())) == 1 and not empty[0] % _rounds(world_size)


def _most_of_a_rank(trace: Trace) -> int:
    """The most messages that carry something which one rank sends and receives."""
    ends = Counter(rank for message in trace.messages if message.message_bytes for rank in (message.src, message.dst))
    return max(ends.values(), default=0)


def _steps(trace: Trace) -> int:
    """Steps of the messages that carry something, without those of the barriers among them."""
    steps = max((message.step for message in trace.messages if message.message_bytes), default=0)
    empty = Counter(message.src for message in trace.messages if not message.message_bytes)
    if not _are_barriers(empty, trace.world_size):
        return steps
    return max(steps - empty[0], min(steps, 1))
