"""Exercise 12a: Young's and Daly's interval, and the share of the time that any interval wastes."""

from course_lib.grading.exercises.common import function_exercise


def trainings(rng):
    """Coins, saves that take longer than a training lives, and trainings that fail once in minutes or in days."""
    yield from [(1, 1, 0, 0.5), (1, 4, 2, 0.5), (2, 9, 1, round(float(rng.uniform(0.26, 0.32)), 6))]
    for chance in (0.2, 0.05, 0.01, 0.001):
        interval, save, restart = (int(each) for each in rng.integers((2, 1, 1), (40, 9, 20)))
        yield interval, save, restart, round(chance * float(rng.uniform(0.7, 1.3)), 6)


MISTAKES = r"""
Young: below the root is *twice* the save
    [young, -> [math.sqrt(save / chance),
The mean time between failures is 1 / chance
    [young, -> [math.sqrt(2 * save * chance),
Where half a save is longer than the mean time between failures, Daly's is that time
     if ratio < 1 else 1 / chance ->
Daly's is the interval alone: the save is taken off
     - save if ->  if
or
    daly, 1 - -> daly + save, 1 -
or
     - save if ratio < 1 else 1 / chance ->
That adds up what saves and failures cost, which is near it where failures are rare. Take t(n)
    1 - interval / minutes -> save / interval + chance * (interval / 2 + restart)
or
    1 - interval / minutes -> save / interval + chance * interval / 2
That is the page's formula, where failures come at any moment. Here time goes by in whole minutes: take t(n)
    1 - interval / minutes -> 1 - interval * chance / math.exp(restart * chance) / math.expm1((interval + save) * chance)
It can fail while it saves, too: interval + save good minutes in a row
    range(interval + save) -> range(interval)
or
    range(interval + save) -> range(interval)
    interval / minutes -> interval / (minutes + save)
Nothing can fail during a restart: each takes `restart` minutes
    minutes = 0\n -> t = 0\n    for _ in range(restart):\n        t = (t + 1) / (1 - chance)\n    restart, minutes = t, 0\n
Every failure costs a restart, too
    1 + chance * restart -> 1
A restart for each failure, and not one in all: (1 - chance)^-n - 1 on average
    1 + chance * restart -> 1
    interval / minutes -> interval / (minutes + restart)
An attempt that fails ends with the failure, and not after all n minutes
    interval / minutes -> interval * (1 - chance) ** (interval + save) / (interval + save)
That is the share that lasts; the waste is the rest
    1 - interval / minutes -> interval / minutes
A save is waste as well: only the interval is lasting work
    1 - interval / minutes -> 1 - (interval + save) / minutes
The waste is a share of *all* the time, less than 1
    1 - interval / minutes -> minutes / interval - 1
"""

EXERCISE = function_exercise(
    __name__,
    calls=trainings,
    label="seven trainings",
    tolerance=1e-6,
    mistakes=MISTAKES,
    hints="""
Let t(n) be the mean number of minutes until n in a row were good. First come n - 1, then one more minute.
That minute fails with the given chance: then a restart, and all of t(n) again. So t(n) = t(n - 1) + 1 + chance * (restart + t(n)). Solve for t(n).
t = 0; interval + save times: t = (t + 1 + chance * restart) / (1 - chance). The waste is 1 - interval / t.
""",
)
