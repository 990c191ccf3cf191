"""Exercise 13a: where a rank is on a mesh, and which rank is some steps further in a dimension."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from course_lib.grading.exercise import Case
from course_lib.grading.exercises.chapter_13.shared import Mesh, coordinates, rank_at
from course_lib.grading.exercises.common import Reasons, function_exercise

__all__ = ["EXERCISE"]


# Cases


def moves(rng: np.random.Generator) -> Iterator[Case]:
    """Three dimensions of different sizes, and one, two and four; steps forward, backward, around and none."""
    calls: list[tuple[int, Mesh, int, int]] = [
        (17, [2, 3, 4], 1, 1),
        (17, [2, 3, 4], 1, 2),
        (17, [2, 3, 4], 2, -2),
        (5, [2, 3, 4], 0, 1),
        (3, [5], 0, 4),
        (7, [4, 3], 0, -3),
        (0, [1, 2, 1], 1, 0),
        (37, [2, 3, 5, 4], 1, 1),
    ]
    for dimensions in (3, 3, 3, 4):
        mesh = rng.integers(2, 10, dimensions).tolist()
        rank, dimension = int(rng.integers(math.prod(mesh))), int(rng.integers(dimensions))
        calls.append((rank, mesh, dimension, int(rng.integers(1, 9))))
    yield Case(1, calls, [_moved(*call) for call in calls], label="twelve moves")


def _moved(rank: int, mesh: Mesh, dimension: int, steps: int, around: bool = True) -> list:
    places = coordinates(rank, mesh)
    there = list(places)
    there[dimension] += steps
    if around:
        there[dimension] %= mesh[dimension]
    return [places, rank_at(there, mesh)]


# Diagnoses


def reasons(rank: int, mesh: Mesh, dimension: int, steps: int) -> Reasons:
    places, there = _moved(rank, mesh, dimension, steps)
    first = [rank // math.prod(mesh[:place]) % size for place, size in enumerate(mesh)]
    moved = list(first)
    moved[dimension] = (moved[dimension] + steps) % mesh[dimension]
    back = sum(place * math.prod(mesh[:number]) for number, place in enumerate(moved))
    yield (
        "There the first dimension counts fastest. The last one does: its neighbors are ranks side by side",
        [first, back],
    )
    yield "Behind the last rank of a dimension comes its first one", _moved(rank, mesh, dimension, steps, around=False)
    yield (
        "A move stays in its group; that one goes on in the next",
        [places, _moved(rank, mesh, dimension, steps, around=False)[1] % math.prod(mesh)],
    )
    yield "A step is as long as all dimensions further in have ranks, multiplied", [places, rank + steps]
    yield (
        "A step is as long as all dimensions further in have ranks, multiplied",
        [places, (rank + steps) % math.prod(mesh)],
    )
    yield "The coordinates are those of `rank`, before the move", [coordinates(there, mesh), there]
    yield "Two things are asked for, [coordinates, rank]", there
    yield "Two things are asked for, [coordinates, rank]", places
    yield "The second is a rank, one number", [places, coordinates(there, mesh)]


# The exercise

EXERCISE = function_exercise(
    id="13a",
    title="Places on a mesh",
    function="moved",
    points=4,
    cases=moves,
    reasons=reasons,
    hints=(
        "Begin with the last dimension: rank % mesh[-1] is the place in it, rank // mesh[-1] is left for the others.",
        "Move: (place + steps) % mesh[dimension]. Python's % is never negative here.",
        "Back to a rank: begin with 0, and for each dimension from the first, rank = rank * size + place.",
    ),
)
