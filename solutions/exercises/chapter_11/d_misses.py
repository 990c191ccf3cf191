"""Exercise 11d: misses of a cache, epoch by epoch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate

import numpy as np

from course_lib.grading.exercise import Case
from course_lib.grading.exercises.common import Reasons, function_exercise
from course_lib.storage.caches import KeepFirst, LeastRecentlyUsed, count_misses

__all__ = ["EXERCISE"]

Epochs = list[list[int]]


# Cases


def epochs(rng: np.random.Generator) -> Iterator[Case]:
    """The same order each epoch, fresh orders, and epochs in which samples come several times."""
    orders: list[tuple[Epochs, int]] = [
        ([[0, 1, 2, 3]] * 3, 3),
        ([[0, 1, 2], [1, 0, 2]], 2),
        ([[0, 1, 0, 2, 0, 1]] * 2, 2),
        ([rng.permutation(8).tolist() for _ in range(4)], 5),
        ([rng.integers(0, 9, 14).tolist() for _ in range(3)], 4),
        ([rng.permutation(5).tolist() for _ in range(3)], 5),
        ([[3, 1, 2]] * 2, 1),
    ]
    calls = [(order, places, policy) for order, places in orders for policy in ("lru", "keep")]
    yield Case(1, calls, [_misses(*call) for call in calls], label="seven orders, both policies")


def _misses(order: Epochs, places: int, policy: str) -> list[int]:
    return count_misses(LeastRecentlyUsed(places) if policy == "lru" else KeepFirst(places), order)


# Diagnoses


def reasons(order: Epochs, places: int, policy: str) -> Reasons:
    right = _misses(order, places, policy)
    yield "The cache stays full from one epoch to the next", [_misses([epoch], places, policy)[0] for epoch in order]
    yield "Those are hits: count what was not there", [len(e) - m for e, m in zip(order, right, strict=True)]
    yield "A number for each epoch, not all together", sum(right)
    yield "A number of misses, not their share", [m / len(e) for e, m in zip(order, right, strict=True)]
    yield "The misses of each epoch by itself, not all up to then", list(accumulate(right))
    yield '"keep" never lets anything go', _misses(order, places, "lru")
    yield '"lru" makes room for what comes', _misses(order, places, "keep") if policy == "lru" else right
    yield '"lru" and "keep" are exchanged', _misses(order, places, "lru" if policy == "keep" else "keep")
    by_entry = "A sample that was there has been used just now: it goes last. There what came in first goes first"
    yield by_entry, _evicting(order, places, 0) if policy == "lru" else right
    newest = "What was asked for last is kept; there it is let go"
    yield newest, _evicting(order, places, -1) if policy == "lru" else right
    yield newest, _evicting(order, places, -1, moves=True) if policy == "lru" else right
    yield "The cache has places for so many samples, no more", _misses(order, places + 1, policy)
    fewer = _misses(order, places - 1, policy) if places > 1 else [len(epoch) for epoch in order]
    yield "The cache has places for so many samples, no fewer", fewer


def _evicting(order: Sequence[Sequence[int]], places: int, goes: int, moves: bool = False) -> list[int]:
    """Misses where the sample that came in first (0) or last (-1) makes room; `moves`: or that was used so."""
    kept: list[int] = []
    counts = []
    for epoch in order:
        counts.append(0)
        for sample in epoch:
            if sample in kept:
                if moves:
                    kept.remove(sample)
                    kept.append(sample)
            else:
                counts[-1] += 1
                if len(kept) == places:
                    kept.pop(goes)
                kept.append(sample)
    return counts


# The exercise

EXERCISE = function_exercise(
    id="11d",
    title="What a cache misses",
    function="misses",
    points=4,
    cases=epochs,
    reasons=reasons,
    hints=(
        "A list will do as the cache: what was asked for last stands at its end.",
        '"lru": take a sample that is there out of the list; then put it at the end. Too long? The first one goes.',
        '"keep": a sample that is not there is put in only while there is a place.',
    ),
)
