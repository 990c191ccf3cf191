"""Exercise 13f: of all meshes and micro-batches that fit the fastest."""

from course_lib.grading.exercises.common import function_exercise
from course_lib.grading.exercises.mistakes import function_of

GB = 10**9


def clusters(rng):
    """The example by hand, one GPU, what fits to the byte, what fits nowhere, ties, a stage for each layer,
    all sequences at once, and drawn ones."""
    for *sizes, parameters, activations, most in (
        (4, 2, 6, 4, 6, 10, 80),
        (1, 8, 4, 8, 1, 2, 24),
        (4, 4, 8, 16, 8, 8, 40),
        (2, 2, 8, 8, 20, 4, 40),
        (2, 1, 2, 2, 8, 10, 80),
        (1, 1, 1, 4, 1, 1, 80),
        (8, 8, 12, 16, 2, 1, 80),
        (16, 8, 6, 32, 22, 24, 40),
        (24, 8, 12, 144, 29, 40, 80),
        (24, 8, 18, 96, 27, 7, 80),
        (24, 4, 10, 144, 21, 3, 80),
    ):
        yield *sizes, parameters * GB, activations * GB, most * GB
    drawn = 0
    while drawn < 5:
        gpus, layers = int(rng.choice([8, 16, 24, 32, 64])), int(rng.choice([12, 24, 30, 40, 48]))
        batch = gpus * int(rng.integers(1, 7))
        parameters, activations = int(rng.integers(4, 40)) * GB, int(rng.integers(2, 40)) * GB
        call = gpus, int(rng.choice([4, 8])), layers, batch, parameters, activations, 80 * GB
        if function_of(EXERCISE)(*call):
            drawn += 1
            yield call


def no_plan(case, outcome):
    """The minimum of nothing."""
    failure = outcome.failure
    if failure is None or failure.cause not in ("ValueError", "TypeError", "IndexError"):
        return None
    return None if case.expected[failure.call] else f"Where no plan fits, return []. {failure.text}"


MISTAKES = r"""
... Where no plan fits, return []
    if not found:\n        return []\n    _, t -> _, t
Where no plan fits, return []
    return []\n -> return None\n
It does not fit: look at needed_bytes
    needed_bytes(parameters, activations, [d, p, t], b) <= max_bytes -> True
What needs exactly max_bytes fits
    <= max_bytes -> < max_bytes
Tensor ranks must divide a node
    range(1, node + 1) -> range(1, gpus + 1)
    node % t or ->
or
    node % t or ->
Every stage has equally many layers
    layers % p or ->
Try larger micro-batches, too
    range(1, batch // d + 1) -> [1]
A data rank has batch / (d b) micro-batches
    b, batch // (d * b) -> b, batch / d
or
    b, batch // (d * b) -> b, batch / b
That one fits, but it is not the fastest
    slowness([d, p, t], b, batch // (d * b)) -> 0
Equally slow: fewer tensor ranks go first, then fewer stages, then the larger micro-batch
    min(found) -> min(found, key=lambda plan: plan[0])
or
    min(found) -> min(found, key=lambda plan: (plan[0], -plan[1], -plan[2], -plan[3]))
or
    min(found) -> min(found, key=lambda plan: (plan[0], plan[2], plan[1], plan[3]))
or
    min(found) -> min(found, key=lambda plan: (plan[0], plan[4], plan[2], plan[1], plan[3]))
or
    min(found) -> min(found, key=lambda plan: (plan[0], plan[4], plan[2], plan[1], -plan[3]))
or
    min(found) -> min(found, key=lambda plan: (plan[0], -plan[4], -plan[2], -plan[1], plan[3]))
The order is data, pipeline, tensor, micro-batch
    return [d, p, t, -> return [t, p, d,
"""

EXERCISE = function_exercise(
    __name__,
    calls=clusters,
    label="sixteen clusters",
    before=(no_plan,),
    mistakes=MISTAKES,
    slow="d follows from t and p: two loops for these and one for b are enough",
    hints="""
Three loops: t over the divisors of node, p over those of layers, b; d is gpus // (p * t) if that divides.
A plan is one of the candidates if batch % (d * b) == 0 and needed_bytes(...) <= max_bytes.
min() over tuples (slowness, t, p, -b, d) takes care of the ties.
""",
)
