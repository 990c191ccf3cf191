"""Exercise 04a: the backward pass of a layer that is cut by outputs."""

from course_lib.grading.exercise import Case
from course_lib.grading.exercises.common import FAILURES, all_reduced, given_nothing, matrix, rank_exercise

# ranks, batch, inputs, outputs, trials with a changed message
SHAPES = ((1, 3, 4, 5, 0), (2, 2, 5, 4, 0), (3, 4, 6, 6, 1), (4, 3, 7, 8, 1))


def layers(rng):
    """Every rank has x, its rows of the weight and its part of the gradient of y."""
    for world_size, batch, inputs, outputs, perturb in SHAPES:
        x, weight, y_grad = matrix(rng, batch, inputs), matrix(rng, outputs, inputs), matrix(rng, batch, outputs)
        rows, parts = weight.tensor_split(world_size), y_grad.tensor_split(world_size, 1)
        given = [(x, mine, part.contiguous()) for mine, part in zip(rows, parts, strict=True)]
        label = f"world_size {world_size}, batch {batch}, {inputs} inputs, {outputs} outputs"
        yield Case(world_size, given, [], perturb, label)


MISTAKES = r"""
returned its own addend of x_grad: every input fed the outputs of all ranks, so the addends are summed
    all_reduce(comm, x_grad) ->
divided the sum by the number of ranks; a gradient is a sum
    [x_grad, -> [x_grad / comm.world_size,
summed weight_grad over the ranks; each rank's rows are its own
    return [x_grad, y_grad.T @ x] -> weight_grad = y_grad.T @ x\n    all_reduce(comm, weight_grad)\n    return [x_grad, weight_grad]
holds {comm.world_size} times the sum: it was summed twice
    all_reduce(comm, x_grad) -> all_reduce(comm, x_grad)\n    all_reduce(comm, x_grad)
returned weight_grad first; x_grad comes first
    [x_grad, y_grad.T @ x] -> [y_grad.T @ x, x_grad]
transposed weight_grad: it has the shape of the weight, [outputs, inputs]
    y_grad.T @ x -> x.T @ y_grad
... all_reduce changes its tensor in place and returns nothing
    all_reduce(comm, x_grad) -> x_grad = all_reduce(comm, x_grad)
"""

EXERCISE = rank_exercise(
    __name__,
    answer="return",
    cases=layers,
    rules=all_reduced(lambda case: case.tensor.numel(), "only x_grad crosses, batch × inputs numbers"),
    before=(*FAILURES, given_nothing),
    mistakes=MISTAKES,
    hints="""
Which outputs did an input feed, and on which ranks do they lie? So of how many addends is its gradient made?
This rank's addend of x_grad is y_grad @ weight. weight_grad is y_grad.T @ x, and that is complete.
x_grad = y_grad @ weight; all_reduce(comm, x_grad); return [x_grad, y_grad.T @ x].
""",
)
