"""Exercise 10a: the fewest ranks at which a ring's all-reduce takes longer than the compute."""

import math

from course_lib.grading.exercises.common import function_exercise
from course_lib.grading.exercises.mistakes import function_of


def clusters(rng):
    """Clusters with latency and without, that stop at 2 to a few hundred ranks: one whose times are equal on 4, and one
    with so few bytes that a chunk is no whole number of them; elsewhere no two times are near each other."""
    yield from [(0.35, 200e6, 4e9, 0.0), (0.35, 200e6, 4e9, 0.003), (0.02, 100e6, 1e9, 0.0), (0.1, 4000.0, 1e9, 0.01)]
    yield from [(6 * 2.0**-5, 2.0**27, 2.0**32, 0.0), (4.5, 40.0, 100.0, 0.0)]
    drawn = 4
    while drawn < 12:
        share = float(rng.integers(3, 200)) + 0.25 + 0.5 * float(rng.random())  # T β' / 2G, no whole number
        wire_s = float(rng.integers(5, 60)) / 1000
        call = round(2 * share * wire_s, 4), 4e9 * wire_s, 4e9, (0.0, 0.0001, 0.002)[drawn % 3]
        if _clear(*call):
            drawn += 1
            yield call


def _clear(work_s, gradient_bytes, bytes_per_s, latency_s):
    """Whether both times differ by more than rounding, at the crossover and just before it."""
    right = function_of(EXERCISE)(work_s, gradient_bytes, bytes_per_s, latency_s)
    return not any(
        math.isclose(2 * (n - 1) * (latency_s + gradient_bytes / bytes_per_s / n), work_s / n, rel_tol=1e-6)
        for n in (right - 1, right)
    )


MISTAKES = r"""
Each of the ring's 2 (n - 1) steps waits for the latency, too
    (latency_s + gradient_bytes / ranks / bytes_per_s) -> gradient_bytes / ranks / bytes_per_s
A ring goes round twice: n - 1 steps to add up, n - 1 to hand out
    2 * (ranks - 1) -> (ranks - 1)
The latency comes in every step of the ring, not once
    2 * (ranks - 1) * (latency_s + -> latency_s + 2 * (ranks - 1) * (
Equally long is not longer yet: one more
    <= work_s / ranks -> < work_s / ranks
A round of the ring has n - 1 steps, one less than ranks
    (ranks - 1) -> ranks
That is the last n at which the compute is still longer: one more
    return ranks -> return ranks - 1
A rank sends 2 (n - 1)/n of the gradients: that is 2 only for very many
    (ranks - 1) * (latency_s + gradient_bytes / ranks -> ((ranks - 1) * latency_s + gradient_bytes
A step of the ring carries a chunk, an n-th of the gradients
    gradient_bytes / ranks -> gradient_bytes
That is a tree's way: a ring of n ranks goes 2 (n - 1) steps, each with a chunk
    (ranks - 1) * (latency_s + gradient_bytes / ranks -> (ranks - 1).bit_length() * (latency_s + gradient_bytes
Both are in bytes: there is no factor of 8
    + gradient_bytes -> + 8 * gradient_bytes
or
    + gradient_bytes -> + gradient_bytes / 8
The batch is fixed: on n ranks the compute takes an n-th of its time
    work_s / ranks -> work_s and ranks < 5000
There is no part of a rank: the first whole n above the formula's
    return ranks -> return 1 + work_s * bytes_per_s / gradient_bytes / 2
"""

EXERCISE = function_exercise(
    __name__,
    calls=clusters,
    label="fourteen clusters",
    mistakes=MISTAKES,
    slow="Does your loop end? The compute on n ranks is work_s / n, so it gets shorter",
    hints="""
Write down both times on n ranks. A ring has 2 (n - 1) steps; in each a rank sends an n-th of the gradients.
Each step takes latency_s + gradient_bytes / n / bytes_per_s. The compute takes work_s / n.
Begin with n = 2 and count up while the all-reduce is not longer than the compute.
""",
)
