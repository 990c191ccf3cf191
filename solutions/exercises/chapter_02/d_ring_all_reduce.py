"""Exercise 02d: both circles of the ring."""

from course_lib.grading.exercise import Case, Outcome
from course_lib.grading.exercises.chapter_02.shared import (
    SHAPES,
    added_on_the_way_back,
    chunks_finished,
    ring_rules,
    sums,
)
from course_lib.grading.exercises.common import rank_exercise
from course_lib.grading.exercises.diagnoses import SUMS


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


MISTAKES = r"""
... forgets none
    answer drops_the_remainder
... leave out the division
    ring_all_gather(comm, tensor) -> tensor /= comm.world_size\n    ring_all_gather(comm, tensor)
... here a rank sends only to its right neighbor
    answer gather_through_rank_0
... makes a new tensor that nobody else sees
    ring_reduce_scatter(comm, tensor) -> tensor = tensor.clone()\n    ring_reduce_scatter(comm, tensor)
... the second circle, which hands the finished chunks round
    ring_all_gather(comm, tensor) -> pass
... on its way back the sum is finished
    answer adds_in_the_second_circle
"""

EXERCISE = rank_exercise(
    __name__,
    cases=sums(SHAPES),
    rules=ring_rules(2),
    mistakes=MISTAKES,
    diagnoses=(only_own_chunk, added_on_the_way_back, *SUMS),
    perturbation="receiver",
    hints="""
You have written both halves already.
ring_reduce_scatter leaves chunk r finished on rank r, and that is where ring_all_gather begins.
""",
)
