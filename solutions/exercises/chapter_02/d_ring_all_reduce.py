"""Exercise 02d: both circles of the ring."""

from __future__ import annotations

from course_lib.grading.exercise import Case, Exercise, Outcome
from course_lib.grading.exercises.chapter_02.shared import (
    SHAPES,
    added_on_the_way_back,
    chunks_finished,
    ring_rules,
    sums,
)
from course_lib.grading.exercises.diagnoses import SUMS

__all__ = ["EXERCISE"]


def only_own_chunk(case: Case, outcome: Outcome) -> str | None:
    """The first circle ran, the second did not."""
    size, count = case.world_size, len(outcome.trace.messages)
    finished = [chunks_finished(case, value) for value in outcome.values]
    if size == 1 or count > size * (size - 1) or any(len(chunks) != 1 for chunks in finished):
        return None
    return (
        f"each rank holds the finished sum of one chunk only (rank 0: chunk {finished[0][0]}); "
        "the second circle, which hands the finished chunks round, did not happen"
    )


EXERCISE = Exercise(
    id="02d",
    title="Ring all-reduce",
    function="ring_all_reduce",
    points=2,
    cases=sums(SHAPES),
    rules=ring_rules(2),
    diagnoses=(only_own_chunk, added_on_the_way_back, *SUMS),
    perturbation="receiver",
    hints=(
        "You have written both halves already.",
        "ring_reduce_scatter leaves chunk r finished on rank r, and that is where ring_all_gather begins.",
    ),
)
