"""Exercise 03a: a server that answers each gradient at once."""

from course_lib.grading.exercise import NUMBERS
from course_lib.grading.exercises.chapter_03.contents import wrong_contents
from course_lib.grading.exercises.chapter_03.shared import SERVED, SERVED_RULES, asynchronous, kept_waiting
from course_lib.grading.exercises.common import rank_exercise

MISTAKES = r"""
... sent torch.float16 to rank 1; the messages of this exercise are
    comm.send(parameters, worker) -> comm.send(parameters.half(), worker)
... apply it first, answer then
    parameters -= gradient\n        comm.send(parameters, worker) -> comm.send(parameters, worker)\n        parameters -= gradient
... does not wait for an answer now
    answer answers_everybody
... take the gradient from rank w by name
    worker = comm.recv(note) -> comm.recv(note)
    comm.recv(gradient, worker) -> worker = comm.recv(gradient)
... all workers have left, and the server still waits
    while here: -> while comm.world_size > 1:
... Do not wait for one rank by name
    answer one_rank_after_the_other
... one row of parameters for each answer
    answer sends_the_gradient_back
... still has something to send. Who may end last?
    here -= 1\n            continue -> break
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
comm.recv(note) without a source takes whoever comes first, and returns the sender's rank. That is all the asynchrony there is.
note.item() is GRADIENT or GOODBYE. After GRADIENT a second message comes from the same worker: take it by name, comm.recv(gradient, worker). Then subtract, then send the parameters to that worker.
Count the workers that are still here. A goodbye makes them one fewer; at none, return the parameters.
""",
)
