"""Exercise 03d: a server that holds back workers too far ahead of the slowest."""

from collections.abc import Iterator

import numpy as np

from course_lib.grading.exercise import NUMBERS, Case, Outcome
from course_lib.grading.exercises.chapter_03.contents import wrong_contents
from course_lib.grading.exercises.chapter_03.schedules import case_of, waiting_row
from course_lib.grading.exercises.chapter_03.shared import (
    SERVED,
    SERVED_RULES,
    Stuck,
    kept_waiting,
    stuck_of,
    with_details,
)
from course_lib.grading.exercises.common import rank_exercise
from course_lib.grading.exercises.counted import standing_in

# With which a server is judged whose student's own rule may be wrong: its points are lost in exercise c.
MAY_GO_ON = """
def may_go_on(clocks, worker, slack):
    return clocks[worker] <= min(clocks) + slack
"""

# "a:" waits, "b:ba" lets both go on, "!": at once: order, slack, workers, elements, trials.
BOUNDED = (
    ("a a a", 1, 1, 5, 0),
    ("a a: .... b:ab a: b:ab a: b:ab b", 1, 2, 40, 0),
    ("a: b:ab a: b:ab", 0, 2, 40, 0),
    ("a a: b:ab a: b:ab a", 1, 2, 40, 1),
    ("a: b: c:abc b: c: a:abc", 0, 3, 41, 0),
    ("a a a: b c:ac b a: c:ac a a", 2, 3, 41, 1),
    ("a a a a b a a c", 9, 3, 33, 0),
    ("a: b:ab a: b:ab! a", 0, 2, 33, 0),
    ("a: b: c:abc a: b: c:abc! a:! b:ab", 0, 3, 33, 0),
)


def bounded(rng: np.random.Generator) -> Iterator[Case]:
    """A worker too far ahead is answered when the slowest has come after."""
    for row, slack, workers, length, perturb in BOUNDED:
        schedule = waiting_row(row, workers, rng)
        yield case_of(schedule, length, rng, perturb=perturb, extra=(slack,), label=f"slack {slack}")


def _all_wait(case: Case, outcome: Outcome) -> Stuck | None:
    """All workers that have not left wait for their answers."""
    stuck = stuck_of(outcome)
    if not stuck or stuck.waits.get(0) != ("recv", None):
        return None
    return stuck if all(verb == "recv" for verb, _ in stuck.waits.values()) else None


def slowest_waits(case: Case, outcome: Outcome) -> str | None:
    """Everybody who is still here waits."""
    stuck = _all_wait(case, outcome)
    if not stuck:
        return None
    if case.world_size == 2:
        text = "the only worker waits, and there is nobody to wait for. Does the server count as a slow worker?"
        return with_details(text, outcome)
    return with_details(
        "all workers wait at once, so the slowest waits, too. It may always go on: if it was held back before, look at "
        "it again whenever somebody has come",
        outcome,
    )


def left_counts(case: Case, outcome: Outcome) -> str | None:
    """Those who left with fewer gradients hold back the others."""
    stuck = _all_wait(case, outcome)
    made = {rank: len(rows) for rank, rows in case.about["gradients"].items() if rank}
    if not stuck or not stuck.finished:
        return None
    if min(made[rank] for rank in stuck.finished) >= max(made.values()):
        return None
    gone = min(stuck.finished, key=lambda rank: made[rank])
    waiting = [rank for rank in stuck.waits if rank]
    text = (
        f"rank {gone} said goodbye after {made[gone]} gradients, and rank {waiting[0]} waits for it for ever. Who has "
        "left is nobody's slowest any more (infinity is a good clock for it)"
    )
    return with_details(text, outcome)


MISTAKES = r"""
got other parameters: the server answers everybody at once. The slowest counts, also while it does not wait itself
    may_go_on(clocks, other, slack) -> True
... Does the server count as a slow worker?
    clocks = [math.inf] + [0] * (comm.world_size - 1)  # by rank -> clocks, here = [0] * comm.world_size, comm.world_size - 1
    while min(clocks) < math.inf -> while here
    clocks[worker] = math.inf -> clocks[worker] = math.inf; here -= 1
got other parameters: a worker was held back without need. Exactly slack ahead may go on
    may_go_on(clocks, other, slack) -> clocks[other] - min(clocks) < slack
... look at it again whenever somebody has come
    in list(waiting) -> in waiting[-1:] * (note.item() != GOODBYE)
got other parameters: a worker went on one gradient too early. More than slack ahead it has to wait: count once more
    may_go_on(clocks, other, slack) -> may_go_on(clocks, other, slack + 1)
... Who has left is nobody's slowest any more
    clocks = [ -> here, clocks = comm.world_size - 1, [
    while min(clocks) < math.inf -> while here
    clocks[worker] = math.inf -> here -= 1
"""

EXERCISE = rank_exercise(
    __name__,
    cases=bounded,
    dtypes=NUMBERS,
    answer="return",
    rules=SERVED_RULES,
    mistakes=MISTAKES,
    before=(left_counts, slowest_waits),
    diagnoses=(*SERVED, kept_waiting, wrong_contents),
    perturbation="receiver",
    clock=True,
    stand_ins=standing_in(MAY_GO_ON, "may_go_on"),
    hints="""
Begin with your asynchronous server, and change one thing: a worker whose gradient has come goes into a list of those who wait.
Then, after each message, look through the whole list: whoever may go on by may_go_on(clocks, worker, slack) is answered with the present parameters, and leaves the list. (Walk over a copy of it: list(waiting).)
clocks = [math.inf] + [0] * (comm.world_size - 1) has an entry for every rank, the server's at infinity. A worker that says goodbye gets infinity, too: nobody waits for it any more.
""",
)
