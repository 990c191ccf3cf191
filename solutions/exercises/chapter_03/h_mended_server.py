"""Exercise 03h: an asynchronous server that loses updates, to be mended."""

from course_lib.grading.exercise import NUMBERS, Case, Outcome
from course_lib.grading.exercises.chapter_03.contents import readings, wrong_contents
from course_lib.grading.exercises.chapter_03.shared import SERVED, SERVED_RULES, asynchronous, kept_waiting
from course_lib.grading.exercises.common import rank_exercise


def lost_updates(case: Case, outcome: Outcome) -> str | None:
    """An answer holds only its worker's own gradients."""
    found = list(readings(case, outcome))
    for one in found:
        others = sorted({rank for rank, _ in one.right} - {one.rank})
        if one.number is not None and others and {rank for rank, _ in one.came} == {one.rank}:
            text = f"{one} that hold only its own gradients: what rank{'s' * (len(others) > 1)} "
            text += f"{', '.join(map(str, others))} pushed is missing"
            if all(each.number is not None for each in found):
                return text + ". The server itself has it all, and answers with something else"
            return text + ". In the end the server has lost it, too"
    return None


MISTAKES = r"""
... The server itself has it all
    file answers_with_the_copy
... apply it first, answer then
    parameters = parameters - gradient  # there is one set of parameters, whoever the gradient is from\n        comm.send(parameters, worker) -> comm.send(parameters, worker)\n        parameters = parameters - gradient
... was subtracted 2 times
    file applies_twice
... was subtracted 0.5 times
    file mean_of_the_copies
... In the end the server has lost it, too
    file not_mended
"""

EXERCISE = rank_exercise(
    id="03h",
    title="Find the bug",
    function="mended_server",
    points=2,
    cases=asynchronous,
    dtypes=NUMBERS,
    answer="return",
    rules=SERVED_RULES,
    mistakes=MISTAKES,
    diagnoses=(*SERVED, lost_updates, kept_waiting, wrong_contents),
    perturbation="receiver",
    clock=True,
    hints="""
Take 2 workers and write down what sent[1] and sent[2] hold after each of the gradients a, b, a.
There are as many sets of parameters here as there are workers. How many should there be?
""",
)
