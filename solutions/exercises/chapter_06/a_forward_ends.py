"""Exercise 06a: when each forward pass ends, where stages take different times."""

from course_lib.grading.exercises.common import function_exercise


def pipelines(rng):
    """Times of the stages, and how many micro-batches."""
    yield [2, 3, 1], 4
    yield [5], 3
    yield [4, 1], 1
    for stages in (2, 4, 6):
        yield rng.integers(1, 20, stages).tolist(), int(rng.integers(3, 7))


MISTAKES = r"""
A stage does one micro-batch after the other: it also waits until it is free
    max(free, arrived) -> arrived
A stage cannot begin before the stage in front of it has ended with this micro-batch
    max(free, arrived) -> free
Stages do not keep step with the slowest one: each begins as soon as it can
    max(free, arrived) + time -> (stage + number + 1) * max(stage_times)
A micro-batch need not wait until the one before it has left the last stage
    max(free, arrived) + time -> number * sum(stage_times) + sum(stage_times[: stage + 1])
A stage waits for every micro-batch, not only for the first
    ends[stage - 1][number] -> ends[stage - 1][0]
A slow stage holds up those behind it, and none in front of it
    max(free, arrived) + time -> sum(stage_times[: stage + 1]) + number * max(stage_times)
Those are the times at which the passes begin; asked for is when they end
    return ends -> return [[end - time for end in row] for row, time in zip(ends, stage_times)]
Both waits go on at the same time: the later of the two counts, not their sum
    max(free, arrived) -> free + arrived
[[0] * n] * m holds one list m times: make each row anew
    return ends -> return [ends[-1]] * len(ends)
Asked for is a list for each stage, of the ends of all micro-batches
    return ends -> return [row[-1] for row in ends]
Asked for is a list for each stage, not one for all
    return ends -> return sum(ends, [])
That is a list for each micro-batch; asked for is one for each stage
    return ends -> return list(map(list, zip(*ends)))
"""

EXERCISE = function_exercise(
    __name__,
    calls=pipelines,
    label="ends of forward passes",
    mistakes=MISTAKES,
    hints="""
For what two things does a stage wait before it begins with a micro-batch?
Until it has ended with the micro-batch before, and until the stage before has ended with this one.
end[stage][i] = max(end[stage][i - 1], end[stage - 1][i]) + stage_times[stage], with 0 for what is not there.
""",
)
