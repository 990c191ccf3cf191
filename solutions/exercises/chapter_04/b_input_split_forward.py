"""Exercise 04b: the forward pass of a layer that is cut by inputs, and where its bias goes."""

from course_lib.grading.exercise import Case
from course_lib.grading.exercises.common import FAILURES, all_reduced, given_nothing, matrix, rank_exercise

# ranks, batch, inputs, outputs, trials with a changed message
SHAPES = ((1, 3, 4, 5, 0), (2, 2, 5, 3, 0), (3, 4, 6, 6, 1), (4, 3, 9, 7, 1))


def layers(rng):
    """Every rank has its columns of x and of the weight, and the whole bias."""
    for world_size, batch, inputs, outputs, perturb in SHAPES:
        x, weight = matrix(rng, batch, inputs), matrix(rng, outputs, inputs)
        bias = 0.75 * matrix(rng, outputs)  # so that bias / world_size is exact, and bias // world_size another
        parts = zip(x.tensor_split(world_size, 1), weight.tensor_split(world_size, 1), strict=True)
        given = [(mine.contiguous(), columns.contiguous(), bias) for mine, columns in parts]
        label = f"world_size {world_size}, batch {batch}, {inputs} inputs, {outputs} outputs"
        yield Case(world_size, given, [], perturb, label, {"elements": batch * outputs})


MISTAKES = r"""
has {comm.world_size} biases in y: every rank added one before the sum
    x @ weight.T -> x @ weight.T + bias
    return y + bias -> return y
has no bias in y, but rank 0 has: every rank returns all of it
    return y + bias -> return y + bias if comm.rank == 0 else y
has the sum without the bias
    return y + bias -> return y
returned its own addend: y is the sum over all ranks, plus the bias
    all_reduce(comm, y) ->
divided the sum by the number of ranks; the addends are parts of one sum
    return y + bias -> return y / comm.world_size + bias
... its `return` is missing, or gives what all_reduce gives
    all_reduce(comm, y)\n    return y + bias -> return all_reduce(comm, y)
"""

EXERCISE = rank_exercise(
    __name__,
    answer="return",
    cases=layers,
    rules=all_reduced(lambda case: case.about["elements"], "only y crosses, batch × outputs numbers"),
    before=(*FAILURES, given_nothing),
    mistakes=MISTAKES,
    hints="""
Every rank has an addend of every output. And how often does the bias belong into the sum of all addends?
An all-reduce of x @ weight.T gives the sum. The bias is the same on every rank.
y = x @ weight.T; all_reduce(comm, y); return y + bias.
""",
)
