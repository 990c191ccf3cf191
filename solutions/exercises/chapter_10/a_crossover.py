"""Exercise 10a: the fewest ranks at which a ring's all-reduce takes longer than the compute."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy as np

from course_lib.grading.exercise import Case
from course_lib.grading.exercises.common import Reasons, function_exercise, too_slow

__all__ = ["EXERCISE"]

MOST_RANKS = 5000  # that a mistake is followed to


# Cases


def clusters(rng: np.random.Generator) -> Iterator[Case]:
    """Clusters with latency and without, that stop at 2 to a few hundred ranks; nowhere are both times equal."""
    calls = [(0.35, 200e6, 4e9, 0.0), (0.35, 200e6, 4e9, 0.003), (0.02, 100e6, 1e9, 0.0), (0.1, 4000.0, 1e9, 0.01)]
    while len(calls) < 12:
        share = float(rng.integers(3, 200)) + 0.25 + 0.5 * float(rng.random())  # T β' / 2G, no whole number
        wire_s = float(rng.integers(5, 60)) / 1000
        call = round(2 * share * wire_s, 4), 4e9 * wire_s, 4e9, (0.0, 0.0001, 0.002)[len(calls) % 3]
        if _clear(*call):
            calls.append(call)
    yield Case(1, calls, [_right(*call) for call in calls], label="twelve clusters")


def _right(work_s: float, gradient_bytes: float, bytes_per_s: float, latency_s: float) -> int:
    work, latency = Fraction(work_s), Fraction(latency_s)
    wire = Fraction(gradient_bytes) / Fraction(bytes_per_s)
    return next(n for n in range(2, MOST_RANKS) if 2 * (n - 1) * (latency + wire / n) > work / n)


def _clear(*call: float) -> bool:
    """Whether both times differ by more than rounding, at the crossover and just before it."""
    work_s, gradient_bytes, bytes_per_s, latency_s = call
    right = _right(*call)
    return all(
        not math.isclose(2 * (n - 1) * (latency_s + gradient_bytes / bytes_per_s / n), work_s / n, rel_tol=1e-6)
        for n in (right - 1, right)
    )


# Diagnoses


def reasons(work_s: float, gradient_bytes: float, bytes_per_s: float, latency_s: float) -> Reasons:
    wire_s = gradient_bytes / bytes_per_s

    def slip(all_reduce_s: Callable[[int], float], work: Callable[[int], float] = lambda n: work_s / n) -> int:
        return next((n for n in range(2, MOST_RANKS) if all_reduce_s(n) > work(n)), MOST_RANKS)

    def ring_s(n: int) -> float:
        return 2 * (n - 1) * (latency_s + wire_s / n)

    right = _right(work_s, gradient_bytes, bytes_per_s, latency_s)
    unlate = slip(lambda n: 2 * (n - 1) / n * wire_s)
    yield "Each of the ring's 2 (n - 1) steps waits for the latency, too", unlate
    once_round = slip(lambda n: (n - 1) * (latency_s + wire_s / n))
    yield "A ring goes round twice: n - 1 steps to add up, n - 1 to hand out", once_round
    one_latency = slip(lambda n: latency_s + 2 * (n - 1) / n * wire_s)
    yield "The latency comes in every step of the ring, not once", one_latency
    one_more = slip(lambda n: 2 * n * (latency_s + wire_s / n))
    yield "A round of the ring has n - 1 steps, one less than ranks", one_more
    yield "That is the last n at which the compute is still longer: one more", right - 1
    twice = slip(lambda n: 2 * (n - 1) * latency_s + 2 * wire_s)
    yield "A rank sends 2 (n - 1)/n of the gradients: that is 2 only for very many", twice
    unchunked = slip(lambda n: 2 * (n - 1) * (latency_s + wire_s))
    yield "A step of the ring carries a chunk, an n-th of the gradients", unchunked
    yield "The batch is fixed: on n ranks the compute takes an n-th of its time", slip(ring_s, lambda n: work_s)
    yield "There is no part of a rank: the first whole n above the formula's", 1 + work_s / (2 * wire_s)


# The exercise

EXERCISE = function_exercise(
    id="10a",
    title="Where communication overtakes",
    function="crossover",
    points=4,
    cases=clusters,
    reasons=reasons,
    before=(too_slow("crossover", "Does your loop end? The compute on n ranks is work_s / n, so it gets shorter"),),
    hints=(
        "Write down both times on n ranks. A ring has 2 (n - 1) steps; in each a rank sends an n-th of the gradients.",
        "Each step takes latency_s + gradient_bytes / n / bytes_per_s. The compute takes work_s / n.",
        "Begin with n = 2 and count up while the all-reduce is not longer than the compute.",
    ),
)
