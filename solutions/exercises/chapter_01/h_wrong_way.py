"""Exercise 01h: gradients for which averaged parameters move against the step of the joined batch."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from course_lib.grading.exercise import Case
from course_lib.grading.exercises.chapter_01.shared import Judge, form_of, numbers_in, shown
from course_lib.grading.exercises.common import function_exercise


def moves_the_wrong_way(world_size: int) -> Judge:
    """Whether one Adagrad step on each rank, averaged, goes against the step of the mean gradient.

    The first step of Adagrad moves by the rate against the sign of the gradient, whatever its size.
    """

    def wrong(value: Any) -> str | None:
        try:
            gradients = [float(number) for number in numbers_in(value)]
        except (TypeError, ValueError):
            return f"gave {form_of(value)}; asked for is a list of {world_size} numbers, one gradient for each rank"
        if len(gradients) != world_size:
            return f"gave {len(gradients)} gradients for {world_size} ranks"
        if not all(map(math.isfinite, gradients)):
            return f"gave {shown(gradients)}, and not all of that are finite numbers"
        mean = sum(gradients) / world_size
        joined, averaged = -_sign(mean), -sum(map(_sign, gradients)) / world_size
        moves = f"gave {shown(gradients)}, mean {mean:.4g}"
        if not joined:
            return f"{moves}: the joined batch says: stay. It must want to move the weight somewhere"
        if joined * averaged < 0:
            return None
        if joined == averaged:
            return f"{moves}: both move the weight by {joined:+g} × rate, the bug does not show"
        if not averaged:
            return f"{moves}: the joined batch moves it by {joined:+g} × rate, averaging parameters not at all; nearly"
        return f"{moves}: {joined:+g} × rate is right, averaging parameters gives {averaged:+.3g} × rate: the same way"

    return wrong


def _sign(number: float) -> float:
    return math.copysign(1.0, number) if number else 0.0


def wrong_ways(rng: np.random.Generator) -> Iterator[Case]:
    """Any gradients that move averaged parameters against the step of the joined batch."""
    sizes = [3, 4, 5, int(rng.integers(6, 40)), 3]
    yield Case(1, [(size,) for size in sizes], [moves_the_wrong_way(size) for size in sizes], label="the wrong way")


MISTAKES = r"""
... finite numbers
    float(world_size) -> float("inf")
... the bug does not show
    [float(world_size)] + [-1.0] * (world_size - 1) -> [1.0] * world_size
... averaging parameters not at all
    [float(world_size)] + [-1.0] * (world_size - 1) -> [2.0, -1.0] + [0.0] * (world_size - 2)
... gradients for
    [float(world_size)] + [-1.0] * (world_size - 1) -> [3.0, -1.0]
... the same way
    [float(world_size)] + [-1.0] -> [-1.0] + [2.0 * world_size]
... the joined batch says: stay
    float(world_size) -> world_size - 1.0
... not all of its entries are numbers
    [float(world_size)] + [-1.0] -> ["loud"] + ["quiet"]
"""

EXERCISE = function_exercise(
    __name__,
    cases=wrong_ways,
    mistakes=MISTAKES,
    hints="""
The first step of Adagrad is rate × gradient / |gradient|: of the gradient it keeps the sign. So averaging parameters takes a vote, one rank one voice.
The mean gradient, on the other hand, listens to who is loudest. Let one rank be very loud.
""",
)
