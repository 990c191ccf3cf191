"""What a wrong number in chapter 2 would be right for."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from course_lib.collectives.ring import ring_all_reduce_seconds
from course_lib.collectives.tree import tree_all_reduce_seconds
from course_lib.grading.exercise import Case, Outcome
from course_lib.grading.exercises.cases_02 import meeting_point

__all__ = ["wrong_count", "wrong_crossover"]

NAMES = ("steps", "total_bytes", "bytes_per_rank", "seconds")


def wrong_count(case: Case, outcome: Outcome) -> str | None:
    """Which of the four numbers is wrong, and what it would be the number of."""
    if outcome.failure is not None:
        return None
    for call, expected, given in zip(case.inputs, case.expected, outcome.values, strict=True):
        if len(given) != len(NAMES):
            return None
        for name, right, came in zip(NAMES, expected, given, strict=True):
            if not math.isclose(came, right, rel_tol=1e-9):
                reason = _what_was_counted(name, came, call, expected)
                return (
                    f"bad_ring_cost{call}: {name} came out as {came:.10g}, counted were {right:.10g}"
                    + f". {reason}" * bool(reason)
                )
    return None


def _what_was_counted(name: str, came: float, call: Sequence[Any], expected: Sequence[float]) -> str:
    message_bytes, size, latency_s, bytes_per_s = call
    steps, total, each, seconds = expected
    one_s = latency_s + message_bytes / bytes_per_s
    reasons = [
        ("steps", size, "After world_size - 1 rounds every parcel has been everywhere; one more brings it home"),
        (
            "steps",
            2 * steps,
            "Two circles are the good ring's; here a rank adds whole tensors, and one circle is enough",
        ),
        ("total_bytes", each, "That is what one rank sends; all of them send"),
        ("bytes_per_rank", each / size, "A parcel is the whole tensor, not a chunk of it"),
        ("bytes_per_rank", message_bytes, "That is one round; there are as many as steps"),
        ("bytes_per_rank", total, "That is all ranks together"),
        ("seconds", seconds * size, "All ranks send at the same time, so a round takes as long as one message"),
        ("seconds", latency_s + steps * (one_s - latency_s), "Every round waits for its own message, latency included"),
        ("seconds", steps * (one_s - latency_s), "Where is the latency?"),
        ("seconds", steps * (latency_s + 8 * message_bytes / bytes_per_s), "The rate counts bytes, not bits"),
        ("seconds", one_s, "That is one round; they come one after the other"),
    ]
    return next((text for where, value, text in reasons if where == name and math.isclose(came, value)), "")


def wrong_crossover(case: Case, outcome: Outcome) -> str | None:
    """For which other pair of curves the given number would be right."""
    if outcome.failure is not None:
        return None
    for call, expected, came in zip(case.inputs, case.expected, outcome.values, strict=True):
        if math.isclose(came, expected, rel_tol=1e-6):
            continue
        others = _other_crossovers(expected, *call)
        reason = next((text for text, value in others if math.isclose(came, value, rel_tol=1e-6)), "")
        if came < 0:
            reason = "A negative size? A ring's step carries only 1/p of the message, a tree's step all of it"
        return (
            f"crossover_bytes{call} gave {came:.10g}, the curves meet at {expected:.10g} bytes"
            + f". {reason}" * bool(reason)
        )
    return None


def _other_crossovers(right: float, size: int, latency_s: float, bytes_per_s: float) -> Iterator[tuple[str, float]]:
    levels = math.ceil(math.log2(size))

    def tree(factor: float) -> Any:
        return lambda n, p, network: factor * tree_all_reduce_seconds(n, p, network)

    def meet(ring: Any = ring_all_reduce_seconds, tree: Any = tree_all_reduce_seconds) -> float:
        return meeting_point(size, latency_s, bytes_per_s, ring, tree)

    yield "That is right for a tree that only goes up; it must come down again, too", meet(tree=tree(0.5))
    yield "A tree has log2(p) levels, not the natural logarithm of p", meet(tree=tree(math.log(size) / levels))
    yield "There is no part of a level: round log2(p) up", meet(tree=tree(math.log2(size) / levels))
    longer = size / (size - 1)
    yield (
        "That is right for a ring of 2p steps; it needs 2(p - 1)",
        meet(ring=lambda n, p, network: longer * ring_all_reduce_seconds(n, p, network)),
    )
    yield "Seconds times bytes per second are bytes; you divided", right / bytes_per_s**2
    yield (
        "That is what a link could have sent while one message waits; count steps and bytes, too",
        latency_s * bytes_per_s,
    )
    yield "The rate counts bytes, not bits", right / 8
    yield "The rate counts bytes, not bits", right * 8
