"""Exercise 05c: which rows of a queries-keys-values weight belong to a rank's heads."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch

from course_lib.grading.exercise import Case
from course_lib.grading.exercises.common import Reasons, function_exercise
from course_lib.tensor_parallel.attention import rows_of_heads

__all__ = ["EXERCISE"]


# Cases


def attentions(rng: np.random.Generator) -> Iterator[Case]:
    """Heads, width of a head, ranks, rank."""
    calls = [(4, 1, 2, 1), (2, 3, 2, 0), (3, 2, 1, 0)]
    for world_size in rng.integers(2, 9, 4).tolist():
        heads = world_size * int(rng.integers(2, 13))
        calls.append((heads, int(rng.integers(2, 65)), world_size, int(rng.integers(1, world_size))))
    yield Case(1, calls, [_rows(*call) for call in calls], label="rows of a rank's heads")


def _rows(heads: int, width: int, world_size: int, rank: int) -> list[int]:
    """From the library, which its tests hold against a whole attention."""
    return rows_of_heads(torch.arange(3 * heads * width), world_size).tensor_split(world_size)[rank].tolist()


# Diagnoses


def reasons(heads: int, width: int, world_size: int, rank: int) -> Reasons:
    hidden, own = heads * width, heads // world_size
    each = 3 * hidden // world_size
    block = list(range(rank * each, (rank + 1) * each))
    yield "One stretch of the rows mixes queries of some heads with keys of others", block
    queries = list(range(rank * own * width, (rank + 1) * own * width))
    yield "Those are the queries only: a head has its keys and its values, too", queries
    dealt = [
        part * hidden + head * width + i
        for part in range(3)
        for head in range(rank, heads, world_size)
        for i in range(width)
    ]
    yield "Neighboring heads lie on one rank: the first heads / p on rank 0", dealt
    by_head = [
        part * hidden + head * width + i
        for head in range(rank * own, (rank + 1) * own)
        for part in range(3)
        for i in range(width)
    ]
    own_rows = [[part * hidden + row for row in queries] for part in range(3)]
    yield "The right rows, in three lists; asked for is one list", own_rows
    yield "Those are the rows of rank 0", [part * hidden + i for part in range(3) for i in range(own * width)]
    yield (
        "The keys begin at row heads · width: a head has `width` rows",
        [part * heads + row for part in range(3) for row in queries],
    )
    yield "The right rows in another order: all queries of this rank first, then keys, then values", by_head
    narrow = [part * heads + head for part in range(3) for head in range(rank * own, (rank + 1) * own)]
    yield "A head has `width` rows of each kind, not one", narrow


# The exercise

EXERCISE = function_exercise(
    id="05c",
    title="Rows of heads",
    function="rows_of_rank",
    points=4,
    cases=attentions,
    reasons=reasons,
    hints=(
        "Draw the 3 · heads · width rows: where do the keys begin, and where the values?",
        "Among the queries this rank has the rows from rank · heads / p · width on. The same again among the keys.",
        "own = heads // world_size * width; for part in 0, 1, 2: `own` rows from part * heads * width + rank * own.",
    ),
)
