"""Exercise 02a: every rank sends its tensor to every other one, in one step."""

from __future__ import annotations

from course_lib.comm.trace import Trace
from course_lib.grading import rules
from course_lib.grading.exercise import Case, Exercise, Rule
from course_lib.grading.exercises.chapter_02.shared import SHAPES, pairs, sums
from course_lib.grading.exercises.diagnoses import SUMS

__all__ = ["EXERCISE"]


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


EXERCISE = Exercise(
    id="02a",
    title="All-reduce, each with each",
    function="direct_all_reduce",
    points=2,
    cases=sums(SHAPES),
    rules=(
        Rule(each_with_each),
        rules.most_messages(pairs, "a whole tensor is one message"),
        rules.most_steps(
            lambda case: 1, "start all sends and all receives (isend, irecv), and only then wait for the first", costs=1
        ),
    ),
    diagnoses=SUMS,
    perturbation="receiver",
    hints=(
        "You need one buffer for each other rank: torch.empty_like(tensor). Why not receive into `tensor` itself?",
        "Three loops: start a receive (irecv) from every other rank, start a send (isend) to every other rank, then "
        "wait() for all of them. Keep what irecv and isend return in a list.",
        "Add only after the last wait(): while a send is under way, its tensor must not change.",
    ),
)
