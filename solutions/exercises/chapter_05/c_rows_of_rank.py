"""Exercise 05c: which rows of a queries-keys-values weight belong to a rank's heads."""

from course_lib.grading.exercises.common import function_exercise


def attentions(rng):
    """Heads, width of a head, ranks, rank."""
    yield 4, 1, 2, 1
    yield 2, 3, 2, 0
    yield 3, 2, 1, 0
    for world_size in rng.integers(2, 9, 4).tolist():
        heads = world_size * int(rng.integers(2, 13))
        yield heads, int(rng.integers(2, 65)), world_size, int(rng.integers(1, world_size))


MISTAKES = r"""
One stretch of the rows mixes queries of some heads with keys of others
    [row for start in starts for row in range(start, start + own)] -> list(range(3 * rank * own, 3 * (rank + 1) * own))
Those are the queries only: a head has its keys and its values, too
    range(3) -> range(1)
Neighboring heads lie on one rank: the first heads / p on rank 0
    [row for start in starts for row in range(start, start + own)] -> [row for row in range(3 * heads * width) if row // width % heads % world_size == rank]
The right rows, in three lists; asked for is one list
    [row for start in starts for row in range(start, start + own)] -> [list(range(start, start + own)) for start in starts]
Those are the rows of rank 0
    + rank * own ->
The keys begin at row heads · width: a head has `width` rows
    part * heads * width -> part * heads
The right rows in another order: all queries of this rank first, then keys, then values
    [row for start in starts for row in range(start, start + own)] -> [start + i + row for i in range(0, own, width) for start in starts for row in range(width)]
A head has `width` rows of each kind, not one
    world_size * width -> world_size
    part * heads * width -> part * heads
The rows of a head lie together: those of head h begin at h · width, they are not every heads-th row
    [row for start in starts for row in range(start, start + own)] -> [part * heads * width + i * heads + head for part in range(3) for i in range(width) for head in range(rank * own // width, (rank + 1) * own // width)]
or
    [row for start in starts for row in range(start, start + own)] -> [part * heads * width + i * heads + head for part in range(3) for head in range(rank * own // width, (rank + 1) * own // width) for i in range(width)]
"""

EXERCISE = function_exercise(
    __name__,
    calls=attentions,
    label="rows of a rank's heads",
    mistakes=MISTAKES,
    hints="""
Draw the 3 · heads · width rows: where do the keys begin, and where the values?
Among the queries this rank has the rows from rank · heads / p · width on. The same again among the keys.
own = heads // world_size * width; for part in 0, 1, 2: `own` rows from part * heads * width + rank * own.
""",
)
