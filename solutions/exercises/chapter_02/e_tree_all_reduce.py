"""Exercise 02e: up a tree and down again, for any number of ranks."""

import math

import torch

from course_lib.comm.trace import Trace
from course_lib.grading import rules
from course_lib.grading.exercise import Case, Outcome, Rule
from course_lib.grading.exercises.chapter_02.shared import (
    TREE_SHAPES,
    added_on_the_way_back,
    not_a_power_of_two,
    sum_of_all,
    sums,
)
from course_lib.grading.exercises.common import rank_exercise
from course_lib.grading.exercises.diagnoses import SUMS


def _depth(case: Case) -> int:
    return max(0, math.ceil(math.log2(case.world_size)))


def few_per_port(case: Case, trace: Trace) -> str | None:
    """No rank takes in, or hands out, more tensors than a tree has levels."""
    most = _depth(case) * case.message_bytes
    for verb, counts in (("received", trace.bytes_received), ("sent", trace.bytes_sent)):
        for rank, count in enumerate(counts):
            if count > most:
                return (
                    f"rank {rank} {verb} {count} bytes: that is a star with rank {rank} in the middle. In a tree over "
                    f"{case.world_size} ranks nobody {verb} more than {most}"
                )
    return None


def no_way_down(case: Case, outcome: Outcome) -> str | None:
    """One rank has the sum and keeps it."""
    right = [rank for rank, value in enumerate(outcome.values) if torch.equal(value, sum_of_all(case))]
    if len(right) != 1 or len(outcome.trace.messages) >= 2 * (case.world_size - 1):
        return None
    return f"rank {right[0]} holds the sum, and nobody else does: the way up is right, the way down is missing"


MISTAKES = r"""
... rank 0 is missing and rank 1 is missing
    reversed(distances) -> distances
... levels, up and down
    answer chain
... 3 is no power of two
     and comm.rank + distance < comm.world_size ->
... on its way back the sum is finished
    comm.recv(tensor, comm.rank - distance) -> comm.recv(incoming, comm.rank - distance); tensor += incoming
... that is a star with rank 0 in the middle
    answer star
... a single rank has nobody to talk to
    answer no_rank_alone
... the way down is missing
    reversed(distances) -> []
"""

EXERCISE = rank_exercise(
    __name__,
    cases=sums(TREE_SHAPES),
    rules=(
        rules.total_bytes(
            lambda case: 2 * (case.world_size - 1) * case.message_bytes,
            "one tensor up each edge of the tree and one down again",
        ),
        Rule(few_per_port),
        rules.max_messages(lambda case: 2 * (case.world_size - 1), "a whole tensor is one message"),
        rules.max_steps(
            lambda case: 4 * int(math.log2(case.world_size)),
            "a tree that halves its ranks at each level has about log2(world_size) levels, up and down",
        ),
    ),
    mistakes=MISTAKES,
    diagnoses=(no_way_down, not_a_power_of_two, added_on_the_way_back, *SUMS),
    perturbation="receiver",
    hints="""
First the way up. In round k (distance 1, 2, 4, ...) half of the ranks that are still in the game give their partial sum to a rank that stays in, and leave. Rank 0 stays to the end.
At distance d, a rank with rank % (2 * d) == d sends to rank - d and is done; one with rank % (2 * d) == 0 receives from rank + d and adds, if rank + d < world_size: not every rank has a partner.
The way down is the way up backwards: the same partners, the distances from large to small, and whoever received on the way up now sends. What arrives replaces what was there.
""",
)
