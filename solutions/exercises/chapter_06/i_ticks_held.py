"""Exercise 06i: how long a rank holds both of its stages of a V."""

from course_lib.grading.exercises.common import function_exercise


def paths(rng):
    """Ranks and the ticks of the four legs: V-Min's, V-Half's, ZB-V's, one rank, and legs that are all different."""
    yield 2, [1, 1, 1, 1]
    yield 4, [1, 2, 1, 2]
    yield 3, [3, 3, 3, 3]
    yield 1, [2, 3, 4, 5]
    for ranks in (2, 5, 8):
        yield ranks, (1 + rng.permutation(40)[:4]).tolist()


MISTAKES = r"""
At each turn, where two passes of one rank follow each other, 1 tick goes by, however long the legs are
    ticks += 1 -> ticks += 0
or
    ticks += 1 -> ticks += leg
The four legs come in the order of the path: F down, F up, B down, B up
    a, b, c, d = legs -> a, b, d, c = legs
A stage is held from its F to its B: the time between, not when B is
    - begun[rank, stage] ->
First the stage on the way down, then the one on the way up
    [held[rank, 0], held[rank, 1]] -> [held[rank, 1], held[rank, 0]]
Asked for are both stages of each rank, not their sum
    [held[rank, 0], held[rank, 1]] -> held[rank, 0] + held[rank, 1]
Asked for are all ranks, not the first alone
    for rank in range(ranks)] -> for rank in range(1)]
"""

EXERCISE = function_exercise(
    __name__,
    calls=paths,
    label="ticks for which both stages are held",
    mistakes=MISTAKES,
    hints="""
Walk along the path with one number, the tick, and note it at each F. What do you note at each B?
On a leg the tick grows by the leg's number for each rank but the last one; at a turn it grows by 1.
begun[rank, stage] = tick at F, held[rank, stage] = tick at B - begun[rank, stage].
""",
)
