"""Exercise 06d: how long a step of a schedule takes, and how much of it a rank idles."""

from course_lib.grading.exercises.chapter_06.shared import MANY, TWO_DIGITS, drawn_order, taken_apart, words_of
from course_lib.grading.exercises.common import function_exercise
from course_lib.pipeline.schedules import gpipe, one_forward_one_backward


def steps(rng):
    """GPipe and 1F1B with passes and transfers that take different times, and orders drawn at random: in these it shows
    which of the two times is that of F."""
    yield words_of(one_forward_one_backward(3, 4)), 2, 3, 1
    yield words_of(gpipe(2, 3)), 1, 2, 1
    yield words_of(gpipe(1, 2)), 3, 4, 5
    for make in (one_forward_one_backward, gpipe, one_forward_one_backward):
        stages, forward, transfer = (int(rng.integers(low, high)) for low, high in ((2, 6), (2, 20), (1, 9)))
        micro_batches = stages + int(rng.integers(1, 5))
        yield words_of(make(stages, micro_batches)), forward, forward + int(rng.integers(1, 9)), transfer
    yield words_of(gpipe(2, MANY)), 1, 2, 1
    for stages, micro_batches in ((2, 5), (3, 4), (4, 6)):
        forward, transfer = int(rng.integers(2, 20)), int(rng.integers(1, 9))
        yield drawn_order(rng, stages, micro_batches), forward, forward + int(rng.integers(5, 30)), transfer


MISTAKES = rf"""
That is the step without transfers
    + transfer) -> )
That is the formula of GPipe's step, where each edge is paid twice; in 1F1B neighbors wait for each other in every round. Play the schedule
    max(free), -> (len(schedule[0]) / 2 + len(schedule) - 1) * (forward + backward) + 2 * (len(schedule) - 1) * transfer,
The bubble is idle time by the whole step, not by the working time
    1 - work / step -> step / work - 1
The bubble adds up all ranks; each one idles for a share of the step
    1 - work / step -> len(schedule) * (1 - work / step)
B does not wait for a transfer of its own F: that never left the rank
    begin = free[rank] -> begin = free[rank] if kind == "F" else max(free[rank], ends[rank, "F", number] + transfer)
A transfer keeps nobody busy: a rank goes on while what it gave is under way
    + transfer) -> )
    ends[rank, kind, number] = -> free[rank] += transfer * (0 <= 2 * rank - neighbor < len(schedule)); ends[rank, kind, number] =
The bubble is a share, from 0 to 1, not in percent
    1 - work / step -> 100 * (1 - work / step)
The bubble is the share that is idle; that is the share that works
    1 - work / step -> work / step
The bubble is idle time by the whole step, a share
    1 - work / step -> step - work
The order is step, then bubble
    [step, 1 - work / step] -> [1 - work / step, step]
{TWO_DIGITS}
    parts(words[place[rank]]) -> words[place[rank]]
or
    len(ends) < sum(map(len, schedule)) -> place != [len(words) for words in schedule]
    parts(words[place[rank]]) -> words[place[rank]][:2]
"""

EXERCISE = function_exercise(
    __name__,
    calls=steps,
    label="steps and bubbles",
    tolerance=1e-6,
    before=(taken_apart,),
    mistakes=MISTAKES,
    hints="""
Play the schedule as in c, and note when each operation ends.
An operation begins at the latest of: its rank is free; its own F has ended (for B); the neighbor's operation has ended, and then `transfer` later it is here.
step = the latest of all ends; bubble = 1 - m (forward + backward) / step, with m micro-batches.
""",
)
