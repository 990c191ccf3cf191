"""Exercise 08d: a dynamic loss scale, step by step."""

from course_lib.grading.exercises.common import function_exercise


def trainings(rng):
    """Lists of steps that overflow or do not: long runs of good ones, several overflows in a row, none at all."""
    yield [False, False, False, True, False], 8.0, 2
    yield [True, True, True, False], 2.0, 3
    yield [False] * 7, 2.0**15, 3
    yield [], 2.0**16, 2000
    yield [False, True, False, False], 16.0, 2
    for interval in (1, 2, 4):
        drawn = rng.random(int(rng.integers(8, 16))) < 0.25
        yield [*map(bool, drawn), *[False] * interval], 2.0 ** int(rng.integers(4, 17)), interval


MISTAKES = r"""
A step that overflows is skipped: it is no update
    return [scales, updates] -> return [scales, len(overflows)]
Asked for is the number of updates, not of skipped steps
    return [scales, updates] -> return [scales, len(overflows) - updates]
An update is one of the weights, not of the scale
    updates, good = updates + 1, good + 1 -> good = good + 1
    scale, good = scale * 2, 0 -> scale, good, updates = scale * 2, 0, updates + 1
A list holds the scale that each step *used*, before it changed
    return [scales, updates] -> return [[*scales, scale][1:], updates]
or
    append(scale) -> append(scale / 2 if overflow else scale)
One scale for each step: the last step is not followed by another
    return [scales, updates] -> return [[*scales, scale], updates]
A step that overflows has used its scale, too: it belongs into the list
    scales.append(scale) -> scales += [] if overflow else [scale]
Asked for are both, [scales, updates]
    return [scales, updates] -> return scales
In the order scales, updates
    return [scales, updates] -> return [updates, scales]
The scale has no lower end: half of 1 is 0.5
    scale / 2 -> max(scale / 2, 1.0)
Half of a scale is not always whole: half of 1 is 0.5
    scale / 2 -> scale // 2
After an overflow the good steps are counted from 0 again
    scale, good = scale / 2, 0 -> scale = scale / 2
After the scale has doubled the good steps are counted from 0 again
    good == interval -> good >= interval
    scale, good = scale * 2, 0 -> scale = scale * 2
or
    scale, good = scale * 2, 0 -> scale = scale * 2
It doubles after `interval` good steps in a row, not after one more
    good == interval -> good > interval
An overflow halves the scale
    scale, good = scale / 2, 0 -> good = 0
Good steps in a row double the scale
    scale, good = scale * 2, 0 -> good = 0
"""

EXERCISE = function_exercise(
    __name__,
    calls=trainings,
    label="steps that overflow or do not",
    mistakes=MISTAKES,
    hints="""
Two numbers change from step to step: the scale, and how many good steps there were in a row.
Note the scale first, then look at the step. Both an overflow and a doubling set the count to 0.
if overflow: scale /= 2; good = 0. else: good += 1; updates += 1; if good == interval: scale *= 2; good = 0.
""",
)
