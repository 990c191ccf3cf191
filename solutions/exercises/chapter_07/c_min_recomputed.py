"""Exercise 07c: the least time of recomputing for a number of slots, by Revolve's recurrence, where layers differ."""

from course_lib.grading.exercises.common import function_exercise


def chains(rng):
    """Times and slots; one slot, more slots than layers, and a chain for which nobody can wait without a table."""
    yield from [([4, 1, 3, 5, 2, 7, 3, 2], 3), ([2, 1, 4, 1, 3], 1), ([1] * 10, 3), ([5], 2), ([2, 7, 1], 5)]
    for layers, slots in ((9, 2), (14, 3), (20, 4)):
        yield rng.integers(1, 30, layers).tolist(), slots
    yield [1] * 50, 5


MISTAKES = r"""
The input takes one of the slots
    layers = len(times) -> layers, slots = len(times), slots + 1
Only what is recomputed counts, not the run that stores a layer
    least[0, layers, slots] -> least[0, layers, slots] + sum(times)
That counts layers; asked for is their time
    layers = len(times) -> layers, times = len(times), [1] * len(times)
The middle is not always the best place: try every j
    in range(start + 1, end) -> in [(start + end) // 2][: length - 1]
When the part behind is done its slot is free again: the layers up to j have all slots
    least[start, j, c] -> least[start, j, c - 1]
That runs each layer once. The part behind j goes back first, while value j takes a slot: that part has one slot less. And with one slot each layer is reached from the input anew
    least[j, end, c - 1] + least[start, j, c] -> least[j, end, c] + least[start, j, c - 1]
To come to value j, layers are run: they take their time
    sum(times[start:j]) + ->
With one slot, each layer is reached from the input; the run that stores it does not count
    sum(sum(times[start:last]) for last in range(start, end)) -> sum(sum(times[start:last]) for last in range(start, end + 1)) * (length > 1)
or
    sum(sum(times[start:last]) for last in range(start, end)) -> sum(sum(times[start:last]) for last in range(start, end + 1))
With one slot, length * (length - 1) / 2 counts runs: here each run takes its layer's time
    sum(sum(times[start:last]) for last in range(start, end)) -> length * (length - 1) // 2
With one slot, too, all layers in front of a layer are run again
    least[0, layers, slots] -> least[0, layers, slots] * (slots > 1)
or
    sum(sum(times[start:last]) for last in range(start, end)) -> 0
"""

EXERCISE = function_exercise(
    __name__,
    calls=chains,
    label="the least recomputed",
    mistakes=MISTAKES,
    slow="The same smaller questions are asked again and again. Keep their answers: put @functools.cache above a function "
    "of (start, end, slots), or fill a table. (You do? With one slot there is nothing left to choose: end there)",
    hints="""
Which layers are left behind j, and which before it? The smaller questions are about parts of the chain: from one value to another, with some slots.
least(start, end, slots) is the time from start to j, plus least(j, end, slots - 1), plus least(start, j, slots): the least over all j. A part of one layer costs nothing.
With one slot: the sum of times[start:last] over all last from start to end - 1. Keep what you have computed: functools.cache on a function inside, whose arguments are three numbers.
""",
)
