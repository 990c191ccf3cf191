"""Exercise 05a: what g and f hand back."""

from course_lib.grading.exercise import Case
from course_lib.grading.exercises.common import FAILURES, all_reduced, given_nothing, matrix, rank_exercise

# ranks, batch, width, trials with a changed message
SHAPES = ((1, 2, 3, 0), (2, 2, 4, 0), (3, 3, 4, 1), (4, 2, 5, 1))


def gradients(rng):
    """The gradient that comes into g is the same everywhere; that which comes into f is each rank's own addend."""
    for world_size, batch, width, perturb in SHAPES:
        whole = matrix(rng, batch, width)
        inputs = [(whole, matrix(rng, batch, width)) for _ in range(world_size)]
        yield Case(world_size, inputs, [], perturb, f"world_size {world_size}, batch {batch}, width {width}")


MISTAKES = r"""
summed the gradient of g, too: every rank holds all of it already, and now it is there {comm.world_size} times. That is what autograd through an all-reduce would do
    all_reduce(comm, f_grad) -> all_reduce(comm, f_grad)\n    all_reduce(comm, g_grad)
returned its own addend for f: x went into every rank, so its gradient is the sum over them
    all_reduce(comm, f_grad) ->
divided the gradient of f by the number of ranks; a gradient is a sum
    [g_grad, f_grad] -> [g_grad, f_grad / comm.world_size]
holds {comm.world_size} times the sum of f's gradients: it was summed twice
    all_reduce(comm, f_grad) -> all_reduce(comm, f_grad)\n    all_reduce(comm, f_grad)
returned f's gradient first; g's comes first
    [g_grad, f_grad] -> [f_grad, g_grad]
divided the gradient of g by the number of ranks; g hands back what it got
    [g_grad, f_grad] -> [g_grad / comm.world_size, f_grad]
has the two exchanged: g sums on the way forward, f on the way back
    all_reduce(comm, f_grad) -> all_reduce(comm, g_grad)
... all_reduce changes its tensor in place and returns nothing
    all_reduce(comm, f_grad) -> f_grad = all_reduce(comm, f_grad)
"""

EXERCISE = rank_exercise(
    __name__,
    answer="return",
    cases=gradients,
    rules=all_reduced(lambda case: case.tensor.numel(), "one of the two gradients needs an all-reduce, one needs none"),
    before=(*FAILURES, given_nothing),
    mistakes=MISTAKES,
    hints="""
f copies on the way forward, g sums. If y = a + b, what is the gradient of a? If x is used twice, what is the gradient of x?
g hands back what it got. f hands back the sum of what all ranks got.
all_reduce(comm, f_grad); return [g_grad, f_grad].
""",
)
