"""Exercise 06g: a stage whose backward passes use the newest weight, to be mended."""

from course_lib.grading.exercises.chapter_06.shared import MANY, TWO_DIGITS, taken_apart, words_of
from course_lib.grading.exercises.common import function_exercise
from course_lib.pipeline.schedules import one_forward_one_backward


def stages(rng):
    """A weight, the order of the passes, and for each micro-batch its x and the gradient of its y."""
    yield 10, ["F0", "F1", "F2", "B0", "F3", "B1", "B2", "B3"], [1, 2, 3, 4], [1, 3, 2, 1]
    yield 5, ["F0", "B0", "F1", "B1"], [1, 2], [3, 4]
    xs, y_grads = ((1 + rng.permutation(8)[:3]).tolist() for _ in range(2))
    yield int(rng.integers(10, 50)), ["F1", "F0", "B0", "F2", "B2", "B1"], xs, y_grads
    for behind, number in ((2, 4), (3, 6), (4, MANY)):
        order = words_of(one_forward_one_backward(behind, number))[0]
        draws = (rng.integers(1, 9, number).tolist() for _ in range(2))
        yield int(rng.integers(-50, 50)), order, *draws


MISTAKES = rf"""
That is what it gave before: B uses the newest weight, F used an older one
    stash.pop(number) -> weight
Not every micro-batch saw the first weight: keep the one of its own F
    for word -> first = weight\n    for word
    stash.pop(number) -> first
One place is not enough: the next F overwrites what B still needs
    stash[number] = -> stash =
    stash.pop(number) -> stash
B must not go one version back, but to that of its F: that may be several
    for word -> before = weight\n    for word
    stash.pop(number) -> before
    weight = weight - -> before, weight = weight, weight -
The update begins with the newest weight; begun with the stashed one, it loses the updates in between
    stash.pop(number) -> stash[number]
    weight = weight - -> weight = stash[number] -
Micro-batches may come back in another order: keep the weight by the micro-batch's number
    stash.pop(number) -> stash.pop(next(iter(stash)))
ys stand in the order of the F and x_grads in that of the B, not by number
    [], [], {{}} -> [0] * len(xs), [0] * len(xs), {{}}
    ys.append(weight * xs[number]) -> ys[number] = weight * xs[number]
    x_grads.append(stash.pop(number) * y_grads[number]) -> x_grads[number] = stash.pop(number) * y_grads[number]
{TWO_DIGITS}
    parts(word) -> word[0], int(word[1])
    stash.pop(number) -> stash[number]
or
    parts(word) -> word; number = int(number)
ys come first, then x_grads
    [ys, x_grads, weight] -> [x_grads, ys, weight]
Updates are not put off to the end: then there are no versions
    for word -> change = 0\n    for word
    weight = weight - -> change +=
    x_grads, weight] -> x_grads, weight - change]
"""

EXERCISE = function_exercise(
    __name__,
    calls=stages,
    label="a stage that stashes its weights",
    before=(taken_apart,),
    mistakes=MISTAKES,
    hints="""
Follow micro-batch 1 in the example: which weight was in its F, and which one is there at its B?
At its F every micro-batch must put away the weight that it saw; several are under way at once.
stash[number] = weight in F; x_grads.append(stash.pop(number) * y_grads[number]) in B; the update as it is.
""",
)
