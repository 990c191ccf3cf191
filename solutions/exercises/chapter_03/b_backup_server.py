"""Exercise 03b: a synchronous server that does not wait for the last workers."""

from collections.abc import Iterator

import numpy as np

from course_lib.grading.exercise import NUMBERS, Case
from course_lib.grading.exercises.chapter_03.contents import wrong_contents
from course_lib.grading.exercises.chapter_03.schedules import Arrival, Schedule, case_of, ranks_of
from course_lib.grading.exercises.chapter_03.shared import SERVED, SERVED_RULES, kept_waiting
from course_lib.grading.exercises.common import rank_exercise


def with_backups(row: str, workers: int, take: int, rng: np.random.Generator) -> Schedule:
    """The schedule of "AB c AC": capitals count, `take` of them make an update; the others come too late."""
    ranks = ranks_of(workers, rng)
    arrivals: list[Arrival] = []
    step: list[int] = []
    updates = 0
    for letter in row.replace(" ", ""):
        worker = ranks[letter.lower()]
        if letter.islower():
            arrivals.append(Arrival(worker, (worker,), taken=False))
            continue
        step.append(worker)
        full = len(step) == take
        arrivals.append(Arrival(worker, tuple(step) if full else ()))
        step, updates = ([], updates + 1) if full else (step, updates)
    return Schedule(workers, tuple(arrivals), updates)


# Capitals count, small letters come late: order, gradients in an update, workers, elements, trials.
BACKUPS = (
    ("A A", 1, 1, 5, 0),
    ("A b A A b", 1, 2, 40, 1),
    ("AB AB c AC b BA c", 2, 3, 41, 1),
    ("ABC AB d D c ACB d", 3, 4, 33, 0),
    ("AB cd CD a b AC b d", 2, 4, 33, 0),
)


def backups(rng: np.random.Generator) -> Iterator[Case]:
    """The first gradients of a step make the update, late ones count nowhere."""
    for row, take, workers, length, perturb in BACKUPS:
        schedule = with_backups(row, workers, take, rng)
        extra, label = (take, schedule.updates), f"take {take} of {workers}, {schedule.updates} steps"
        yield case_of(schedule, length, rng, perturb=perturb, extra=extra, spare=2, label=label)


MISTAKES = r"""
holds part of an update: until {take} gradients of this step have come, the parameters must stay as they are
    total += gradient -> parameters -= gradient
holds a gradient that came late. It was computed on parameters older than the server's, so it counts in no step: its note says on which version
    note.item() == version and ->
... was subtracted 2 times
    total.zero_() -> pass
... waits for an answer that never comes
    ready = [worker] -> ready = []
holds {steps + 1} updates; {steps} were asked for
    version < steps -> version <= steps
    version == steps -> version > steps
... its worker sat idle until others had come
    len(waiting) == take -> len(waiting) == comm.world_size - 1
"""

EXERCISE = rank_exercise(
    __name__,
    cases=backups,
    dtypes=NUMBERS,
    answer="return",
    rules=SERVED_RULES,
    mistakes=MISTAKES,
    diagnoses=(*SERVED, kept_waiting, wrong_contents),
    perturbation="downstream",
    clock=True,
    hints="""
The note says on which version the gradient was computed. Compare it with the version that the server has now: equal, and it belongs to this step; smaller, and it is late.
Keep two things while a step is under way: the sum of its gradients, and the list of workers that wait. When the list has `take` entries, subtract the sum, count the version up, answer all of the list, empty both.
A late worker is answered at once, with a note of the present version and the present parameters; or with STOP, when all steps are done. You are done when every worker has been told STOP.
""",
)
