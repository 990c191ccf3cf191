"""Exercise 06f: where to cut the layers into stages."""

from course_lib.grading.exercises.common import function_exercise


def networks(rng):
    """Times of the layers and of sending what lies between them; one network is too long to try all cuts."""
    yield [3, 4, 2, 6, 4], [9, 1, 8, 10], 3
    yield [7, 2], [30], 1
    yield [9, 1, 1, 1], [1, 20, 1], 3
    yield [1, 2, 3], [9, 4], 3
    for layers, stages in ((6, 2), (9, 4), (40, 12)):
        yield rng.integers(1, 40, layers).tolist(), rng.integers(1, 60, layers - 1).tolist(), stages


MISTAKES = r"""
That leaves out the transfers
    transfers[cut - 1],  ->
As many layers in each stage need not be best: layers differ
    answer equal_numbers
That fills one stage after the other up to the mean; a cut that costs a little there may save more later
    answer fills_up
Layers cannot be cut into pieces: the mean is only a bound
    return best[layers, stages] -> return max(max(times), sum(times) / stages)
Every rank gets a layer: fewer stages are not allowed
    return best[layers, stages] -> return min(best[layers, stage] for stage in range(1, stages + 1))
The transfer at a cut before layer i is transfers[i - 1]
    transfers[cut - 1] -> [*transfers, 0][cut]
or
    transfers[cut - 1] -> [*transfers, transfers[-1]][cut]
A transfer goes on while the stages compute: the slowest counts, not a stage and its transfer together
    transfers[cut - 1], sum(times[cut:count]) -> sum(times[cut:count]) + transfers[cut - 1]
or
    sum(times[:count]) -> sum(times[:count]) + [*transfers, 0][count - 1]
    transfers[cut - 1], sum(times[cut:count]) -> sum(times[cut:count]) + [*transfers, 0][count - 1]
That balances the stages first and looks at the transfers afterwards; a cut elsewhere may be cheaper
    max(best[cut, stage - 1], transfers[cut - 1], sum(times[cut:count])) -> (max(best[cut, stage - 1][0], sum(times[cut:count])), cut, max(best[cut, stage - 1][2], transfers[cut - 1]))
    (count, 1): sum(times[:count]) -> (count, 1): (sum(times[:count]), 0, 0)
    return best[layers, stages] -> return max(best[layers, stages][0], best[layers, stages][2])
"""

EXERCISE = function_exercise(
    __name__,
    calls=networks,
    label="the least bottleneck",
    mistakes=MISTAKES,
    slow="40 layers can be cut into 12 stages in 1.7 billion ways: keep the best of every smaller question",
    hints="""
Suppose you know where the last cut lies. What is the bottleneck then, and which smaller question is left?
best(layers, stages) for the first so many layers. The last stage is the layers from `cut` on: the bottleneck is the largest of best(cut, stages - 1), transfers[cut - 1] and the sum of times[cut:layers].
best(layers, 1) = sum(times[:layers]); else the least over all cuts from stages - 1 to layers - 1. Keep what you have computed (functools.cache).
""",
)
