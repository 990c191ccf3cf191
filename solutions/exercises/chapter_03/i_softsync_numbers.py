"""Exercise 03i: gradients in an update, updates and mean staleness of n-softsync, by calculation."""

import math
from collections.abc import Iterator

import numpy as np
import torch

from course_lib.grading.exercise import Case, Outcome
from course_lib.grading.exercises.common import function_exercise

TOLERANCE = 1e-6  # a mean in float32 is right, too


def softsyncs(rng: np.random.Generator) -> Iterator[Case]:
    """Counted: gradients in an update, whole updates, and how many updates pass while the others push once each."""
    calls: list[tuple] = [(30, 4, 1000), (30, 15, 1000), (6, 6, 10), (5, 1, 12)]
    for _ in range(4):
        workers = int(rng.integers(8, 64))
        calls.append((workers, int(rng.integers(2, workers)), int(rng.integers(1000, 9999))))
    expected = []
    for workers, n, gradients in calls:
        most = max(c for c in range(1, workers + 1) if c * n <= workers)
        expected.append(
            [most, sum(1 for number in range(1, gradients + 1) if number % most == 0), (workers - 1) / most]
        )
    yield Case(1, calls, expected, label="n-softsync")


def other_softsync(case: Case, outcome: Outcome) -> str | None:
    """Which of three numbers is off, and what it would be right for."""
    if outcome.failure is not None:
        return None
    for call, (c, updates, mean), came in zip(case.inputs, case.expected, outcome.values, strict=True):
        if not isinstance(came, (list, tuple, torch.Tensor, np.ndarray)) or len(came) != 3:
            gave = f"{len(came)} values" if isinstance(came, list | tuple) else getattr(came, "type_name", came)
            return f"three numbers are asked for: gradients_per_update, updates, mean_staleness; you gave {gave}"
        came = [float(value) for value in came]
        workers, n, gradients = call
        if came[:2] == [updates, c]:
            return f"softsync_numbers{call} gave {came[0]:g} and {came[1]:g}: first gradients_per_update, then updates"
        reasons = (
            ("gradients_per_update", c, came[0], _why_c(workers, n)),
            ("updates", updates, came[1], _why_updates(workers, n, gradients, c)),
            ("mean_staleness", mean, came[2], _why_mean(workers, n, c)),
        )
        for name, right, value, others in reasons:
            if not math.isclose(value, right, rel_tol=TOLERANCE):
                why = "".join(f". {text}" for text, other in others if math.isclose(value, other, rel_tol=TOLERANCE))
                return f"softsync_numbers{call}: {name} is {right:g}, you gave {value:g}" + why
    return None


def _why_c(workers: int, n: int) -> list[tuple[str, float]]:
    return [
        ("Nobody can wait for part of a gradient: round down", workers / n),
        ("Round down, not up", float(-(-workers // n))),
        ("n says how many updates there are while everybody pushes once, not how many gradients are in one", float(n)),
    ]


def _why_updates(workers: int, n: int, gradients: int, c: int) -> list[tuple[str, float]]:
    return [
        ("Each gradient is an update only if c = 1", float(gradients)),
        ("An update that is not full is none: round down", gradients / c),
        ("An update that is not full is none: round down", gradients // c + 1.0),
        (
            "n updates come of c * n gradients, and that is fewer than one of each worker if n does not divide",
            (float(gradients * n // workers)),
        ),
    ]


def _why_mean(workers: int, n: int, c: int) -> list[tuple[str, float]]:
    return [
        ("That is the rule of thumb; the exact mean is a little different", float(n)),
        ("Do not round a mean", float((workers - 1) // c)),
        ("A worker does not overtake itself: only the others' pushes make its gradient old", workers / c),
        ("Staleness counts updates, not gradients: each update takes c of them", float(workers - 1)),
    ]


MISTAKES = r"""
... A worker does not overtake itself
    (workers - 1) -> workers
... That is the rule of thumb
    (workers - 1) / gradients_per_update -> n
... Nobody can wait for part of a gradient
    workers // n -> workers / n
... first gradients_per_update, then updates
    return gradients_per_update, updates, -> return updates, gradients_per_update,
... An update that is not full is none
    gradients // -> gradients /
... Staleness counts updates, not gradients
    (workers - 1) / gradients_per_update -> workers - 1
"""

EXERCISE = function_exercise(
    id="03i",
    title="The numbers of n-softsync",
    function="softsync_numbers",
    points=3,
    cases=softsyncs,
    tolerance=TOLERANCE,
    mistakes=MISTAKES,
    before=(other_softsync,),
    hints="""
30 workers and n = 4: a server that updates after every ⌊30/4⌋ = 7 gradients. Of 1,000 gradients, how many full sevens?
While a worker computes one gradient, the others push workers - 1 gradients on average, however fast or slow they are. How many updates do those make?
""",
)
