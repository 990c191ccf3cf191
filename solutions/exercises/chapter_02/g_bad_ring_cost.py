"""Exercise 02g: steps, bytes and seconds of a ring that sends whole tensors, by calculation."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from course_lib.grading.exercise import Case, Exercise, Outcome

__all__ = ["EXERCISE"]


# Cases


def costs_of_the_bad_ring(rng: np.random.Generator) -> Iterator[Case]:
    """Counted message by message: in each round every rank sends its parcel to the right."""
    calls, expected = [], []
    for world_size in (3, 2, 1, 8, 100):
        n, latency_s = 4 * int(rng.integers(1_000, 9_999)), float(rng.integers(1, 99)) / 1e6
        bytes_per_s = float(rng.integers(10, 99)) * 1e8
        rounds = [[n] * world_size for _ in range(1, world_size)]
        each = sum(sends[0] for sends in rounds)
        seconds = sum(latency_s + max(sends) / bytes_per_s for sends in rounds)
        calls.append((n, world_size, latency_s, bytes_per_s))
        expected.append([len(rounds), sum(map(sum, rounds)), each, seconds])
    yield Case(1, calls, expected, label="the bad ring")


# Diagnoses

TOLERANCE = 1e-6  # seconds in float32 are right, too
NAMES = ("steps", "total_bytes", "bytes_per_rank", "seconds")


def wrong_count(case: Case, outcome: Outcome) -> str | None:
    """Which of the four numbers is wrong, and what it would be the number of."""
    if outcome.failure is not None:
        return None
    for call, expected, given in zip(case.inputs, case.expected, outcome.values, strict=True):
        if len(given) != len(NAMES):
            return None
        for name, right, came in zip(NAMES, expected, given, strict=True):
            if not math.isclose(came, right, rel_tol=TOLERANCE):
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


# The exercise

EXERCISE = Exercise(
    id="02g",
    title="The cost of a bad ring",
    function="bad_ring_cost",
    points=3,
    cases=costs_of_the_bad_ring,
    mode="function",
    answer="return",
    tolerance=TOLERANCE,
    diagnoses=(wrong_count,),
    hints=(
        "Count on your fingers for 3 ranks: how many rounds are there, and how many parcels move in one round?",
        "All ranks send at the same time, each through its own port. So a round takes as long as one message.",
        "One message of n bytes takes latency_s + n / bytes_per_s, and every round pays the latency again.",
    ),
)
