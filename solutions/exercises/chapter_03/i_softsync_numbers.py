"""Exercise 03i: gradients in an update, updates and mean staleness of n-softsync, by calculation."""

from course_lib.grading.exercises.common import function_exercise


def softsyncs(rng):
    """Workers, n, gradients."""
    yield from [(30, 4, 1000), (30, 15, 1000), (6, 6, 10), (5, 1, 12)]
    for _ in range(4):
        workers = int(rng.integers(8, 64))
        yield workers, int(rng.integers(2, workers)), int(rng.integers(1000, 9999))


MISTAKES = r"""
Nobody can wait for part of a gradient: round down
    workers // n -> workers / n
Round down, not up
    workers // n -> -(-workers // n)
n says how many updates there are while everybody pushes once, not how many gradients are in one
    workers // n -> n
Each gradient is an update only if c = 1
    gradients // gradients_per_update -> gradients
An update that is not full is none: round down
    gradients // -> gradients /
or
    gradients // gradients_per_update -> gradients // gradients_per_update + 1
n updates come of c * n gradients, and that is fewer than one of each worker if n does not divide
    gradients // gradients_per_update -> gradients * n // workers
That is the rule of thumb; the exact mean is a little different
    (workers - 1) / gradients_per_update -> n
Do not round a mean
    (workers - 1) / -> (workers - 1) //
A worker does not overtake itself: only the others' pushes make its gradient old
    (workers - 1) -> workers
Staleness counts updates, not gradients: each update takes c of them
    (workers - 1) / gradients_per_update -> workers - 1
You gave the updates first: gradients_per_update comes before them
    return gradients_per_update, updates, -> return updates, gradients_per_update,
"""

EXERCISE = function_exercise(
    __name__,
    calls=softsyncs,
    label="n-softsync",
    tolerance=1e-6,  # a mean in float32 is right, too
    mistakes=MISTAKES,
    hints="""
30 workers and n = 4: a server that updates after every ⌊30/4⌋ = 7 gradients. Of 1,000 gradients, how many full sevens?
While a worker computes one gradient, the others push workers - 1 gradients on average, however fast or slow they are. How many updates do those make?
""",
)
