"""Exercise 02i: recursive doubling, for any number of ranks."""

import torch

from course_lib.comm.trace import Trace
from course_lib.grading import rules
from course_lib.grading.exercise import Case, Outcome, Rule
from course_lib.grading.exercises.chapter_02.shared import TREE_SHAPES, not_a_power_of_two, rounds, sum_of_all, sums
from course_lib.grading.exercises.common import rank_exercise
from course_lib.grading.exercises.diagnoses import SUMS


def leftover(case: Case) -> int:
    return case.world_size - 2 ** rounds(case)


def doubling_bytes(case: Case) -> int:
    return (rounds(case) * 2 ** rounds(case) + 2 * leftover(case)) * case.message_bytes


def everybody_swaps(case: Case, trace: Trace) -> str | None:
    """Among a power of two of ranks nobody is idle in any round."""
    if leftover(case):
        return None
    for rank, sent in enumerate(trace.bytes_sent):
        if sent != rounds(case) * case.message_bytes:
            return (
                f"rank {rank} sent {sent} bytes; in recursive doubling every rank swaps its whole tensor in every one "
                f"of the {rounds(case)} rounds, {rounds(case) * case.message_bytes} bytes in all"
            )
    return None


def left_behind(case: Case, outcome: Outcome) -> str | None:
    """The ranks beyond a power of two were forgotten."""
    wrong = [rank for rank, value in enumerate(outcome.values) if not torch.equal(value, sum_of_all(case))]
    if not wrong or len(wrong) > case.world_size // 2 or case.world_size & (case.world_size - 1) == 0:
        return None
    names = ", ".join(map(str, wrong))
    return f"the others hold the sum, rank {names} does not: who gave its tensor away must get the result back"


MISTAKES = r"""
... in recursive doubling every rank swaps its whole tensor
    answer tree
... 3 is no power of two
    answer powers_of_two_only
[2] ... a swap is one step
    sending = comm.isend(tensor, comm.rank ^ distance)\n        comm.recv(incoming, comm.rank ^ distance)\n        sending.wait() -> for act in (comm.send, comm.recv) if comm.rank < comm.rank ^ distance else (comm.recv, comm.send):\n            act(tensor if act == comm.send else incoming, comm.rank ^ distance)
... 2 × rank 0 + 1 × rank 1 + 1 × rank 2
    answer dissemination
... rank 2 is missing
    comm.send(tensor, comm.rank - core)\n -> \n
    comm.recv(incoming, comm.rank + core)\n        tensor += incoming -> pass
... must get the result back
    comm.recv(tensor, comm.rank - core) -> pass
    comm.send(tensor, comm.rank + core) -> pass
"""

EXERCISE = rank_exercise(
    __name__,
    cases=sums(TREE_SHAPES),
    rules=(
        rules.total_bytes(doubling_bytes, "a tensor per rank and round, and two for each rank left over"),
        Rule(everybody_swaps),
        rules.max_messages(lambda case: doubling_bytes(case) / case.message_bytes, "a whole tensor is one message"),
        rules.max_steps(
            lambda case: rounds(case) + 2 * (leftover(case) > 0),
            "a swap is one step: start the send, then receive",
            costs=1,
        ),
    ),
    mistakes=MISTAKES,
    diagnoses=(not_a_power_of_two, left_behind, *SUMS),
    perturbation="receiver",
    hints="""
First a power of two. In the round of distance 1, 2, 4, ... the partner of rank r is r ^ distance: that flips one bit, so it is r for its partner, too.
What you send in a swap must not change before it has left: receive into a buffer, wait, and then add.
For other sizes, let core be the largest power of two that fits. Ranks from core on hand their tensor to rank - core before the doubling, and get the result from there afterwards.
""",
)
