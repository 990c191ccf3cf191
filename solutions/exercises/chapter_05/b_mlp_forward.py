"""Exercise 05b: two layers behind one another, the first cut by outputs and the second by inputs."""

from course_lib.grading.exercise import Case
from course_lib.grading.exercises.common import FAILURES, all_reduced, given_nothing, matrix, rank_exercise

# ranks, batch, width, hidden, trials with a changed message
SHAPES = ((1, 3, 3, 4, 0), (2, 2, 4, 6, 0), (3, 4, 3, 7, 1), (4, 3, 4, 8, 1))


def layers(rng):
    """Every rank has x, its rows of the first weight and bias, its columns of the second weight, and its bias."""
    for world_size, batch, width, hidden, perturb in SHAPES:
        x, first, first_bias, second, second_bias = _layers(rng, batch, width, hidden)
        rows, biases, columns = (
            each.tensor_split(world_size, axis) for each, axis in ((first, 0), (first_bias, 0), (second, 1))
        )
        inputs = [(x, *mine, part.contiguous(), second_bias) for *mine, part in zip(rows, biases, columns, strict=True)]
        label = f"world_size {world_size}, batch {batch}, width {width}, hidden {hidden}"
        yield Case(world_size, inputs, [], perturb, label)


def _layers(rng, batch, width, hidden):
    """Drawn until relu changes something between the layers, and would change something else behind them.

    Some hidden number is 1 or -1, where GELU is another than relu. The last bias is a multiple of 3/4, so that each
    rank's share of it is exact, and none where // divides.
    """
    shapes = (batch, width), (hidden, width), (hidden,), (width, hidden), (width,)
    while True:
        x, first, first_bias, second, second_bias = drawn = tuple(matrix(rng, *shape) for shape in shapes)
        second_bias *= 0.75
        between = x @ first.T + first_bias
        behind = between @ second.T + second_bias
        both = all(bool((numbers < 0).any() and (numbers > 0).any()) for numbers in (between, behind))
        if both and (between.abs() == 1).any():
            return drawn


MISTAKES = r"""
has {comm.world_size} second biases in y: every rank added one before the sum
    return y + second_bias -> return y
    @ second.T -> @ second.T + second_bias
has no second bias
    return y + second_bias -> return y
returned its own addend: y is the sum over all ranks, plus the bias
    all_reduce(comm, y) ->
divided the sum by the number of ranks; the addends are parts of one sum
    return y -> return y / comm.world_size
has no relu between the layers
    torch.relu( -> (
has relu behind the second layer; it belongs between the two
    torch.relu( -> (
    return y + second_bias -> return torch.relu(y + second_bias)
or
    torch.relu( -> (
    return y -> return torch.relu(y)
has a second relu, behind the second layer: there is one between the two, and no other
    return y + second_bias -> return torch.relu(y + second_bias)
or
    return y -> return torch.relu(y)
has GELU between the layers; here it is relu
    torch.relu( -> torch.nn.functional.gelu(
has the first bias behind relu; it is part of the first layer
    torch.relu(x @ first.T + first_bias) -> (torch.relu(x @ first.T) + first_bias)
has no first bias: each rank adds its part of it before relu
    @ first.T + first_bias -> @ first.T
summed x over the ranks: every rank has all of x already, and f sums on the way back only
    y = torch.relu( -> all_reduce(comm, x)\n    y = torch.relu(
... only y crosses, once
    all_reduce(comm, y) -> all_reduce(comm, y)\n    all_reduce(comm, torch.zeros_like(y))
... its `return` is missing, or gives what all_reduce gives
    all_reduce(comm, y)\n    return y + second_bias -> return all_reduce(comm, y)
"""

EXERCISE = rank_exercise(
    __name__,
    answer="return",
    cases=layers,
    rules=all_reduced(lambda case: case.tensor.numel(), "only y crosses, once: batch × width numbers"),
    before=(*FAILURES, given_nothing),
    mistakes=MISTAKES,
    hints="""
Which hidden numbers does this rank have after the first layer? Are they whole, so that relu may be applied?
They are, and they are just what this rank's columns of the second weight want. What comes out is an addend.
y = torch.relu(x @ first.T + first_bias) @ second.T; all_reduce(comm, y); return y + second_bias.
""",
)
