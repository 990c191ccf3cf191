"""Exercise 08e: a weight that takes small updates, with a master copy and without."""

from course_lib.grading.exercises.common import function_exercise


def trainings(rng):
    """Weights and updates whose sums are exact in fp32: updates that fp16 swallows, keeps, and rounds."""
    yield 1.0, [2.0**-11] * 4
    yield 1.0, [2.0**-12] * 3
    yield 2048.0, [1.0] * 5
    yield 0.5, [2.0**-10, -(2.0**-11)]
    yield -0.5, [0.5, 2.0**-12]
    for _ in range(4):
        power = int(rng.integers(-3, 4))
        steps = rng.integers(-6, 7, int(rng.integers(6, 12))) * 2.0 ** (power - 12)
        weight = float(rng.integers(4, 8)) * 2.0 ** (power - 2)
        yield weight, [float(step) for step in steps] + [3 * 2.0 ** (power - 13)] * 7


MISTAKES = r"""
First without the master copy, then with it
    [alone, fp16(master)] -> [fp16(master), alone]
The master copy is fp32, but what the network uses of it is rounded to fp16
    fp16(master) -> master
Without a master copy the weight is rounded after every update
    fp16(alone + update) -> alone + fp16(update)
    [alone, -> [fp16(alone),
or
    fp16(alone + update) -> alone + update
or
    fp16(alone + update) -> alone + update
    [alone, -> [fp16(alone),
The master copy is not rounded between updates; that is the point of it
    master += update -> master = fp16(master + update)
The master copy is a weight in fp32; sums of updates are not rounded either
    alone = master = weight -> alone, master = weight, 0.0
    fp16(master) -> fp16(weight + fp16(master))
Round the sum after an update is added, not the weight before it
    fp16(alone + update) -> fp16(alone) + update
An update is added, not taken away
    alone + update -> alone - update
    master += -> master -=
or
    alone + update -> alone - update
"""

EXERCISE = function_exercise(
    __name__,
    calls=trainings,
    label="weights and their updates",
    mistakes=MISTAKES,
    hints="""
Two weights begin equal. Both take the same updates; one is rounded each time, one at the very end.
Plain Python numbers are exact here, so they can play fp32; fp16(x) rounds.
plain = fp16(plain + update) in the loop; master = master + update in the loop; return [plain, fp16(master)].
""",
)
