"""Exercise 10g: error feedback for several buckets that finds nothing of what it kept, to be mended."""

from course_lib.grading.exercises.chapter_10.shared import ties
from course_lib.grading.exercises.common import function_exercise


def trainings(rng):
    """Several buckets, some of equal length, over several steps; what is sent is always clear."""
    yield [[[4, 3], [-6, 1, 5]], [[2, 1], [1, 1, 2]], [[0, 0], [0, 0, 0]]], 1
    yield [[[5, 2, -7]]], 1
    for lengths, steps, k in (((4,), 4, 1), ((4, 4), 4, 1), ((5, 3, 5), 5, 2)):
        buckets = [_rows(rng, length, steps, k) for length in lengths]
        yield [list(step) for step in zip(*buckets, strict=True)], k


def _rows(rng, length, steps, k):
    while ties(rows := rng.integers(-20, 21, (steps, length)).tolist(), k):
        pass
    return rows


MISTAKES = r"""
That is what it gave before: what waits is never found again. What names a bucket in every step?
    .get(number, -> .get(id(bucket),
    residuals[number] -> residuals[id(bucket)]
What waited before is forgotten, or taken off twice: a residual is what was *wanted*, less the message
    in zip(wanted, message -> in zip(bucket, message
Every bucket has a residual of its own, also one of two that are equally long
    .get(number, -> .get(len(bucket),
    residuals[number] -> residuals[len(bucket)]
What waited is in `wanted` already: do not add it to the new residual again
    [w - m for w, m in zip( -> [a + w - m for a, w, m in zip(waiting,
What was sent no longer waits: take the message off
    [w - m for w, m in zip(wanted, message, strict=True)] -> wanted
A list of messages for each step, as the steps have lists of buckets
    return sent -> return [message for step in sent for message in step]
"""

EXERCISE = function_exercise(
    __name__,
    calls=trainings,
    label="buckets of one to five steps",
    mistakes=MISTAKES,
    hints="""
Print the keys of `residuals` after each step. How many are there, and how many buckets?
A bucket's place in its step is the same in every step; its address is not. And: less the message, of what?
for number, bucket in enumerate(buckets): the key is number; residuals[number] = wanted - message.
""",
)
