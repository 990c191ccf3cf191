"""Exercise 13b: the groups of some dimensions of a mesh."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from course_lib.grading.exercise import Case
from course_lib.grading.exercises.chapter_13.shared import Mesh, coordinates
from course_lib.grading.exercises.common import Reasons, function_exercise

__all__ = ["EXERCISE"]


# Cases


def meshes(rng: np.random.Generator) -> Iterator[Case]:
    """Each dimension by itself, two together, all of them and none, in three dimensions, one, two and four."""
    calls: list[tuple[Mesh, list[int]]] = [([2, 2, 2], each) for each in ([2], [1], [0], [1, 2], [0, 2])]
    calls += [([3, 2, 4], [1]), ([3, 1, 2], [1])]
    for dimensions, number in ((3, 1), (3, 2), (4, 1), (4, 2)):
        mesh = rng.integers(1, 7, dimensions).tolist()
        calls.append((mesh, sorted(rng.permutation(dimensions)[:number].tolist())))
    calls += [([2, 3], []), ([4], [0]), ([2, 2, 3, 2], [1, 3]), ([2, 3, 2], [0, 1, 2])]
    yield Case(1, calls, [_groups(*call) for call in calls], label="fifteen groupings")


def _groups(mesh: Mesh, dimensions: Sequence[int]) -> list[list[int]]:
    found: dict[tuple[int, ...], list[int]] = {}
    for rank in range(math.prod(mesh)):
        fixed = tuple(p for number, p in enumerate(coordinates(rank, mesh)) if number not in dimensions)
        found.setdefault(fixed, []).append(rank)
    return list(found.values())


# Diagnoses


def reasons(mesh: Mesh, dimensions: list[int]) -> Reasons:
    right = _groups(mesh, dimensions)
    ranks = list(range(math.prod(mesh)))
    size = math.prod(mesh[each] for each in dimensions)
    others = [each for each in range(len(mesh)) if each not in dimensions]
    if not dimensions:
        yield "With no dimension at all everybody is alone: groups of one rank", []
        yield "With no dimension at all everybody is alone: groups of one rank", [ranks]
    yield (
        "The ranks of a group differ in these dimensions and agree in all others; there it is the other way",
        _groups(mesh, others),
    )
    side = [ranks[start : start + size] for start in range(0, len(ranks), size)]
    yield "Only the last dimension's groups are ranks side by side", side
    yield "That counts with the first dimension fastest; the last one is innermost", _first_fastest(mesh, dimensions)
    yield "Groups are in the order of their first ranks", sorted(right, key=lambda group: group[-1], reverse=True)
    yield "Groups are in the order of their first ranks", _by_inner_place(mesh, dimensions)
    yield "All groups, not only the one of rank 0", right[0]
    yield "All groups, not only the one of rank 0", right[:1]
    yield (
        "Every rank is in one group, and every group is there once",
        [next(group for group in right if rank in group) for rank in ranks],
    )
    if dimensions:
        several = "With several dimensions, one group has all ranks that differ in any of them"
        yield several, [group for each in dimensions for group in _groups(mesh, [each])]
        yield several, _groups(mesh, dimensions[:1])


def _first_fastest(mesh: Mesh, dimensions: Sequence[int]) -> list[list[int]]:
    """The groups if the first dimension were innermost."""
    return _groups(mesh[::-1], [len(mesh) - 1 - each for each in dimensions])


def _by_inner_place(mesh: Mesh, dimensions: Sequence[int]) -> list[list[int]]:
    """The right groups, those with the smallest place in the innermost dimensions first."""
    return sorted(_groups(mesh, dimensions), key=lambda group: coordinates(group[0], mesh)[::-1])


# The exercise

EXERCISE = function_exercise(
    id="13b",
    title="Groups of a mesh",
    function="groups",
    points=4,
    cases=meshes,
    reasons=reasons,
    hints=(
        "Two ranks are in one group if their coordinates agree in all dimensions that are not in `dimensions`.",
        "Go through the ranks from 0 on. What of a rank's coordinates tells its group from all others?",
        "A dictionary from the coordinates outside `dimensions` (as a tuple) to a list of ranks keeps both orders.",
    ),
)
