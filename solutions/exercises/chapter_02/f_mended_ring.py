"""Exercise 02f: a ring with two boxes where three are needed, to be mended."""

from course_lib.grading import rules
from course_lib.grading.exercise import Case, Outcome
from course_lib.grading.exercises.chapter_02.shared import SHAPES, pairs, right_neighbor, sums, terms_of
from course_lib.grading.exercises.common import rank_exercise
from course_lib.grading.exercises.diagnoses import SUMS, counted


def overwritten(case: Case, outcome: Outcome) -> str | None:
    """A rank's own numbers are gone from its sum."""
    for rank, _, _, counts in counted(case, outcome):
        if counts[rank] == 0 and sum(counts) > 0:
            terms = terms_of(counts)
            return (
                f"rank {rank} holds {terms}: its own numbers are gone. They were in `tensor` after the first round; "
                "which line of the second round writes over them?"
            )
    return None


def same_parcel(case: Case, outcome: Outcome) -> str | None:
    """The left neighbor's numbers came in every round."""
    size = case.world_size
    for rank, _, _, counts in counted(case, outcome):
        left = (rank - 1) % size
        if size > 2 and counts == [1 if source == rank else (size - 1) * (source == left) for source in range(size)]:
            return (
                f"rank {rank} holds {terms_of(counts)}: its left neighbor sent the same parcel in all {size - 1} "
                "rounds. What arrived in one round must leave in the next"
            )
    return None


def passes_on_its_sum(case: Case, outcome: Outcome) -> str | None:
    """What travels is a sum that has been added to already."""
    for rank, _, _, counts in counted(case, outcome):
        if counts[rank] == 1 and max(counts) > 1:
            return (
                f"rank {rank} holds {terms_of(counts)}: some numbers came to it more than once, so what travels is no "
                "longer one rank's tensor. Whoever adds into what is sent on makes its neighbor count double."
            )
    return None


MISTAKES = r"""
... every rank still holds its own numbers
    tensor += inbox -> tensor = tensor + inbox
... its own numbers are gone
    parcel = tensor.clone() -> parcel = tensor
... sent the same parcel in all 2 rounds
    parcel, inbox = inbox, parcel -> pass
... makes its neighbor count double
    parcel = tensor.clone() -> parcel = tensor
    parcel, inbox = inbox, parcel -> pass
... a single rank has nobody to talk to
    range(comm.world_size - 1) -> range(comm.world_size)
... 2 × rank 0 + 0 × rank 1
    tensor += inbox\n        parcel, inbox = inbox, parcel -> parcel, inbox = inbox, parcel\n        tensor += inbox
"""

EXERCISE = rank_exercise(
    __name__,
    cases=sums(SHAPES),
    rules=(
        rules.neighbors(right_neighbor, "its right neighbor"),
        rules.bytes_per_rank(
            lambda case: (case.world_size - 1) * case.message_bytes, "world_size - 1 rounds, a tensor in each"
        ),
        rules.max_messages(lambda case: 2 * pairs(case), "even a ring of chunks sends no more"),
    ),
    mistakes=MISTAKES,
    diagnoses=(overwritten, same_parcel, passes_on_its_sum, *SUMS),
    perturbation="receiver",
    hints="""
Take 3 ranks with tensors a, b, c and write down, for rank 0, what the names parcel, inbox and tensor stand for before the first round, after it, and after the second.
A Python name is a label, not a box. After `parcel = tensor` there is one box with two labels. After the first swap, which box does `inbox` name, and what is in it?
Two boxes are not enough: one for the sum, one for the parcel that leaves, one for what arrives. A single call to .clone(), in the right place, makes the third.
""",
)
