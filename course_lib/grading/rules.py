"""Ready-made rules about the wire: each takes the limit as a function of the case and gives a `Rule`."""

from __future__ import annotations

from collections.abc import Callable, Collection

from course_lib.comm.trace import Trace
from course_lib.grading.exercise import Case, Rule

__all__ = ["bytes_per_rank", "exact_steps", "message_bytes", "most_steps", "neighbors", "total_bytes"]

Limit = Callable[[Case], float]


def neighbors(allowed: Callable[[int, int], Collection[int]], name: str, costs: float | None = None) -> Rule:
    """Rank r sends only to `allowed(r, world_size)`; `name` says who they are, e.g. "its right neighbor"."""

    def check(case: Case, trace: Trace) -> str | None:
        for message in trace.messages:
            if message.dst not in allowed(message.src, case.world_size):
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
                return f"rank {rank} sent {sent} bytes, {limit:g} are enough" + f": {because}" * bool(because)
        return None

    return Rule(check, costs)


def total_bytes(most: Limit, because: str = "", costs: float | None = None) -> Rule:
    """All ranks together send no more than `most(case)` bytes."""

    def check(case: Case, trace: Trace) -> str | None:
        limit = most(case)
        if trace.total_bytes <= limit:
            return None
        return f"all ranks together sent {trace.total_bytes} bytes, {limit:g} are enough" + f": {because}" * bool(
            because
        )

    return Rule(check, costs)


def message_bytes(most: Limit, because: str = "", costs: float | None = None) -> Rule:
    """No single message is larger than `most(case)` bytes."""

    def check(case: Case, trace: Trace) -> str | None:
        limit = most(case)
        for m in trace.messages:
            if m.message_bytes > limit:
                return (
                    f"rank {m.src} sent a message of {m.message_bytes} bytes to rank {m.dst} in step {m.step}, "
                    f"{limit:g} are enough" + f": {because}" * bool(because)
                )
        return None

    return Rule(check, costs)


def most_steps(most: Limit, because: str = "", costs: float | None = None) -> Rule:
    """The longest chain of messages, each waiting for the one before, has at most `most(case)` links."""

    def check(case: Case, trace: Trace) -> str | None:
        limit = most(case)
        if trace.steps <= limit:
            return None
        enough = "is enough" if limit == 1 else "are enough"
        return f"it took {trace.steps} steps one after the other, {limit:g} {enough}" + f": {because}" * bool(because)

    return Rule(check, costs)


def exact_steps(steps: Limit, because: str = "", costs: float | None = None) -> Rule:
    """The longest chain of messages has exactly `steps(case)` links."""

    def check(case: Case, trace: Trace) -> str | None:
        wanted = steps(case)
        if trace.steps == wanted:
            return None
        return f"it took {trace.steps} steps one after the other, not {wanted:g}" + f": {because}" * bool(because)

    return Rule(check, costs)
