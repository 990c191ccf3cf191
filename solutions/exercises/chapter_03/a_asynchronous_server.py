"""Exercise 03a: a server that answers each gradient at once."""

from __future__ import annotations

from course_lib.grading.exercise import NUMBERS, Exercise
from course_lib.grading.exercises.chapter_03.contents import wrong_contents
from course_lib.grading.exercises.chapter_03.shared import SERVED, SERVED_RULES, asynchronous, kept_waiting

__all__ = ["EXERCISE"]


EXERCISE = Exercise(
    id="03a",
    title="An asynchronous server",
    function="asynchronous_server",
    points=4,
    cases=asynchronous,
    dtypes=NUMBERS,
    answer="return",
    rules=SERVED_RULES,
    diagnoses=(*SERVED, kept_waiting, wrong_contents),
    perturbation="receiver",
    clock=True,
    hints=(
        "comm.recv(note) without a source takes whoever comes first, and returns the sender's rank. That is all the "
        "asynchrony there is.",
        "note.item() is GRADIENT or GOODBYE. After GRADIENT a second message comes from the same worker: take it by "
        "name, comm.recv(gradient, worker). Then subtract, then send the parameters to that worker.",
        "Count the workers that are still here. A goodbye makes them one fewer; at none, return the parameters.",
    ),
)
