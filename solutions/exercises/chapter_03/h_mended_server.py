"""Exercise 03h: an asynchronous server that loses updates, to be mended."""

from course_lib.grading.exercise import NUMBERS
from course_lib.grading.exercises.chapter_03.contents import wrong_contents
from course_lib.grading.exercises.chapter_03.shared import SERVED, SERVED_RULES, asynchronous, kept_waiting
from course_lib.grading.exercises.common import rank_exercise

MISTAKES = r"""
was answered with its own gradients alone: the server itself has it all, and answers with something else
    here = comm.world_size - 1 -> here = comm.world_size - 1\n    sent = {worker: parameters.clone() for worker in range(1, comm.world_size)}
    comm.send(parameters, worker) -> sent[worker] = sent[worker] - gradient\n        comm.send(sent[worker], worker)
... apply it first, answer then
    parameters = parameters - gradient  # there is one set of parameters, whoever the gradient is from\n        comm.send(parameters, worker) -> comm.send(parameters, worker)\n        parameters = parameters - gradient
... was subtracted 2 times
    parameters - gradient -> parameters - 2 * gradient
... was subtracted 0.5 times
    here = comm.world_size - 1 -> here = comm.world_size - 1\n    sent = {worker: parameters.clone() for worker in range(1, comm.world_size)}
    parameters = parameters - gradient -> sent[worker] = sent[worker] - gradient\n        parameters = sum(sent.values()) / len(sent)
ends with the gradients of one worker alone: each is answered from a copy of its own, and what the others pushed is lost
    here = comm.world_size - 1 -> here = comm.world_size - 1\n    sent = {worker: parameters.clone() for worker in range(1, comm.world_size)}
    parameters = parameters - gradient -> parameters = sent[worker] = sent[worker] - gradient
"""

EXERCISE = rank_exercise(
    __name__,
    cases=asynchronous,
    dtypes=NUMBERS,
    answer="return",
    rules=SERVED_RULES,
    mistakes=MISTAKES,
    diagnoses=(*SERVED, kept_waiting, wrong_contents),
    perturbation="receiver",
    clock=True,
    hints="""
Take 2 workers and write down what sent[1] and sent[2] hold after each of the gradients a, b, a.
There are as many sets of parameters here as there are workers. How many should there be?
""",
)
