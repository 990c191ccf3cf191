"""Exercise 05g: seeds of dropout masks, to be mended."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from course_lib.grading.exercise import Case
from course_lib.grading.exercises.common import function_exercise, two_factors

__all__ = ["EXERCISE"]

Seeds = list[list[int]]  # for the dropout inside a layer and for that between layers: one seed a rank


# Cases


def worlds(rng: np.random.Generator) -> Iterator[Case]:
    """Tensor-parallel ranks, replicas, whether the sequence is cut between the layers."""
    calls = [(2, 1, False), (2, 2, False), (2, 2, True), (1, 3, False)]
    for cut in (False, True, False, True):
        calls.append((*two_factors(rng, 400, 400, most=5000), cut))
    yield Case(1, calls, [_seeds(*call) for call in calls], label="seeds of dropout masks")


def _seeds(tensor: int, data: int, cut: bool) -> Seeds:
    ranks = range(tensor * data)
    return [list(ranks), [rank if cut else rank - rank % tensor for rank in ranks]]


# Diagnoses


def reasons(tensor: int, data: int, cut: bool) -> Iterator[tuple[str, Seeds]]:
    ranks = list(range(tensor * data))
    inside, between = _seeds(tensor, data, cut)
    groups = [rank - rank % tensor for rank in ranks]
    yield (
        "That is what it gave before: replicas have other examples, and need other masks",
        [inside, [0 for _ in ranks]],
    )
    yield "Where the sequence is cut, ranks hold other tokens between the layers: other seeds, too", [inside, groups]
    yield (
        "Between the layers all ranks of a group hold the same activations: with different masks the copies differ",
        [inside, ranks],
    )
    yield "Inside a layer every rank has heads of its own: with one seed they all drop the same", [groups, between]
    number = [inside, ranks if cut else [rank // tensor for rank in ranks]]
    yield "That is the number of the replica; asked for is the number of its first rank", number
    strided = [inside, ranks if cut else [rank % data for rank in ranks]]
    yield "A replica's ranks follow each other: 0 to tensor - 1 are the first", strided
    places = [rank % tensor for rank in ranks]
    yield "Replicas have other examples: inside a layer, too, they need other masks", [places, between]
    yield "The seeds of the dropout inside a layer come first", [between, inside]


# The exercise

EXERCISE = function_exercise(
    id="05g",
    title="Find the bug",
    function="mended_seeds",
    points=3,
    cases=worlds,
    reasons=reasons,
    hints=(
        "For each dropout: do two ranks hold the same numbers there, or each its own?",
        "Same numbers, same mask: only between the layers, within one tensor-parallel group, if the sequence is whole.",
        "Inside: rank. Between: rank if sequence_cut else rank - rank % tensor, the first rank of the group.",
    ),
)
