"""Exercise 03c: the rule of slack, a function without messages."""

from math import inf

import numpy as np

from course_lib.grading.exercises.common import function_exercise


def questions_of_slack(rng):
    """Clocks, a worker, a slack: may it begin its next gradient? Those who left, and the server, are at infinity."""
    yield from [([inf, 3, 3], 1, 0), ([inf, 4, 3], 1, 0), ([inf, 4, 3], 2, 0), ([inf, 7], 1, 0)]
    for workers in (2, 3, 3, 4, 4, 8):
        slack = int(rng.integers(1, 5))
        slowest = int(rng.integers(0, 30))
        others = [slowest + int(ahead) for ahead in rng.integers(0, slack + 2, workers - 2)]
        for ahead in (slack - 1, slack, slack + 1):
            clocks = [slowest, *others, slowest + ahead]
            order = rng.permutation(workers)
            shuffled = [inf, *(clocks[place] for place in order)]
            me, last = 1 + int(np.argmax(order == workers - 1)), 1 + int(np.argmax(order == 0))
            yield from [(shuffled, me, slack), (shuffled, last, slack)]
        yield [inf, slowest, inf, slowest + slack + 2], 3, slack
    # These tell apart what is mistaken: everybody, the median, the second smallest, worker 1, a slack of 2.
    yield from [([inf, 0, 0, 0, 0, 9], 5, 1), ([inf, 0, 0, 5, 5, 5], 3, 1), ([inf, 9, 3, 9], 3, 1), ([inf, 3, 0], 1, 4)]


MISTAKES = r"""
Exactly slack ahead is allowed
    <= slack -> < slack
You let a worker go one further than that
    <= slack -> <= slack + 1
You look at the fastest and the slowest; then the slowest waits, too, and nobody ever comes after
    clocks[worker] - -> max(clock for clock in clocks if clock != math.inf) -
Infinity is the clock of those who are not there: you look at the largest clock
    clocks[worker] - -> max(clocks) -
You measure how far behind the fastest it is: that holds back the slow ones
    clocks[worker] - min(clocks) -> max(clock for clock in clocks if clock != math.inf) - clocks[worker]
You compare with the mean; the slowest is what counts
    return -> there = [clock for clock in clocks if clock != math.inf]\n    return
    min(clocks) -> sum(there) / len(there)
That lets everybody go on, as an asynchronous server does
    clocks[worker] - min(clocks) <= slack -> True
You leave the server's infinity out and take the second smallest: the smallest clock is the slowest already
    min(clocks) -> sorted(clocks)[1]
You look at the clock before this worker's: the list has an entry for the server, so clocks[worker] is right
    clocks[worker] - -> clocks[worker - 1] -
You compare with a slack of your own, not with the one that is given
    <= slack -> <= 2
You compare with the median; the slowest is what counts
    def may_go_on( -> import statistics\n\n\ndef may_go_on(
    min(clocks) -> statistics.median(clocks)
You compare with worker 1, not with the slowest
    min(clocks) -> clocks[1]
That lets only the slowest go on
    clocks[worker] - min(clocks) <= slack -> clocks[worker] == min(clocks)
... Its `return` is missing
    return clocks -> clocks
"""

EXERCISE = function_exercise(
    __name__,
    calls=questions_of_slack,
    label="the rule",
    mistakes=MISTAKES,
    hints="""
How many gradients is this worker ahead of the slowest one? min(clocks) is the slowest.
It may be ahead by slack, and no more: at slack + 1 it waits.
""",
)
