"""Exercise 02a: every rank sends its tensor to every other one, in one step."""

from course_lib.comm.trace import Trace
from course_lib.grading import rules
from course_lib.grading.exercise import Case, Rule
from course_lib.grading.exercises.chapter_02.shared import SHAPES, pairs, sums
from course_lib.grading.exercises.common import rank_exercise
from course_lib.grading.exercises.diagnoses import SUMS


def each_with_each(case: Case, trace: Trace) -> str | None:
    """Every rank sends its whole tensor to every other rank, once."""
    for src, row in enumerate(trace.link_bytes):
        for dst, sent in enumerate(row):
            if src != dst and sent != case.message_bytes:
                return (
                    f"rank {src} sent {sent} bytes to rank {dst}; each with each means that its whole tensor of "
                    f"{case.message_bytes} bytes goes there, once and directly"
                )
    return None


MISTAKES = r"""
... rank 1 sent 0 bytes to rank 2; each with each
    answer through_rank_0
... two messages may be arriving in the same memory
    [torch.empty_like(tensor) for _ in others] -> [torch.empty_like(tensor)] * len(others)
... `tensor = tensor + ...` makes a new tensor
    tensor += buffer -> tensor = tensor + buffer
[1] ... it took 2 steps one after the other, 1 is enough
    answer one_after_the_other
... 0 × rank 0 + 1 × rank 1; each belongs in once, so rank 0 is missing
    answer receive_into_tensor
... everybody sends and nobody receives
    works = [comm.irecv -> [comm.send(tensor, rank) for rank in others]\n    works = [comm.irecv
    works += [comm.isend(tensor, rank) for rank in others] -> pass
"""

EXERCISE = rank_exercise(
    __name__,
    cases=sums(SHAPES),
    rules=(
        Rule(each_with_each),
        rules.max_messages(pairs, "a whole tensor is one message"),
        rules.max_steps(
            lambda case: 1, "start all sends and all receives (isend, irecv), and only then wait for the first", costs=1
        ),
    ),
    mistakes=MISTAKES,
    diagnoses=SUMS,
    perturbation="receiver",
    hints="""
You need one buffer for each other rank: torch.empty_like(tensor). Why not receive into `tensor` itself?
Three loops: start a receive (irecv) from every other rank, start a send (isend) to every other rank, then wait() for all of them. Keep what irecv and isend return in a list.
Add only after the last wait(): while a send is under way, its tensor must not change.
""",
)
