"""Exercise 02h: the message size at which the ring overtakes the tree, by calculation."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from course_lib.collectives.ring import ring_all_reduce_seconds
from course_lib.collectives.tree import tree_all_reduce_seconds
from course_lib.comm.network import Network
from course_lib.grading.exercise import Case, Exercise, Outcome

__all__ = ["meeting_point", "EXERCISE"]


# Cases


def crossovers(rng: np.random.Generator) -> Iterator[Case]:
    """Where the curves of ring and tree meet, found by halving an interval again and again."""
    sizes = [4, 8, int(rng.integers(5, 8)), int(rng.integers(9, 16)), int(rng.integers(17, 1000))]
    calls = [(p, float(rng.integers(1, 99)) / 1e6, float(rng.integers(10, 250)) * 1e8) for p in sizes]
    yield Case(1, calls, [meeting_point(*call) for call in calls], label="the crossover")


def meeting_point(
    world_size: int,
    latency_s: float,
    bytes_per_s: float,
    ring: Callable[..., Any] = ring_all_reduce_seconds,
    tree: Callable[..., Any] = tree_all_reduce_seconds,
) -> float:
    """The message size at which `ring` takes no longer than `tree`; both give seconds."""
    network = Network(latency_s=latency_s, bytes_per_s=bytes_per_s)
    low, high = 0.0, latency_s * bytes_per_s * 4 * world_size
    for _ in range(200):
        middle = (low + high) / 2
        behind = ring(middle, world_size, network) > tree(middle, world_size, network)
        low, high = (middle, high) if behind else (low, middle)
    return high


# Diagnoses


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


# The exercise

EXERCISE = Exercise(
    id="02h",
    title="Where the ring overtakes the tree",
    function="crossover_bytes",
    points=3,
    cases=crossovers,
    mode="function",
    answer="return",
    tolerance=1e-6,
    diagnoses=(wrong_crossover,),
    hints=(
        "Write both times as a + b * message_bytes: a is what the steps cost, b what the bytes cost. Two straight "
        "lines meet where a1 + b1 * n = a2 + b2 * n.",
        "Ring: 2(p - 1) steps, each with n / p bytes. Tree: 2 * ceil(log2 p) steps, each with n bytes.",
        "Solve for n: the latencies' difference, times bytes_per_s, over the difference of the bytes' factors. Check "
        "with p = 2: the answer is 0, because there the ring is never behind.",
    ),
)
