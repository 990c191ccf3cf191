"""Exercise 04c: what a rank sends for a layer that is cut by examples, by outputs and by inputs, by calculation."""

from functools import partial

from course_lib.grading.exercise import Case
from course_lib.grading.exercises.common import function_exercise
from course_lib.grading.exercises.mistakes import function_of
from course_lib.grading.verdict import difference


def sizes(rng):
    """Sizes that the ranks divide, so that all ranks send the same."""
    calls = [(8, 16, 4, 2)]
    calls += [(*(int(rng.integers(2, 99)) * 8 for _ in range(3)), world_size) for world_size in (2, 4, 8, 1)]
    yield Case(1, calls, [partial(judged, *call) for call in calls], label="bytes of three cuts")


def judged(batch, inputs, outputs, world_size, came):
    """What is wrong with three numbers. An all-reduce in place of a reduce-scatter is right, too: so do a and b."""
    right = function_of(EXERCISE)(batch, inputs, outputs, world_size)
    more = [4 * (world_size - 1) / world_size * batch * numbers for numbers in (0, inputs, outputs)]
    rows = zip(right, more, came, strict=True)
    if all(
        None in (difference(least, value, 1e-9), difference(least + rest, value, 1e-9)) for least, rest, value in rows
    ):
        return None
    return f"is {list(map(int, right))}, you gave {came}"


MISTAKES = r"""
The bias has a gradient, too
    (inputs + 1) -> inputs
or
    (inputs + 1) -> inputs
    share * (y + x), share * (y + x)] -> share * (y + 2 * x), share * (2 * y + x)]
By outputs and by inputs are exchanged
    share * (y + x), share * (y + x)] -> share * (2 * y + x), share * (y + 2 * x)]
That is the forward pass; on the way back the gradient of x crosses, too
    share * (y + x) -> share * y
or
    2 * share * weights, share * (y + x), share * (y + x)] -> 0, share * y, share * y]
or
    share * (y + x), share * (y + x)] -> share * y, 2 * share * y]
`batch` counts the examples of all ranks; a rank that has part of the weight computes with all of them
    batch * -> batch / world_size *
or
    batch * -> batch / world_size *
    share * (y + x), share * (y + x)] -> share * (y + 2 * x), share * (2 * y + x)]
One is counted twice and one not at all: y crosses one way, the gradient of x the other
    share * (y + x), share * (y + x)] -> 2 * share * y, 2 * share * x]
or
    share * (y + x), share * (y + x)] -> 2 * share * x, 2 * share * y]
A weight that is cut has its gradient where it lies: only activations cross then
    share * (y + x) -> share * (2 * weights + y + x)
A ring sends (p - 1)/p of it: each rank has a part already
    (world_size - 1) / world_size -> 1
A ring sends (p - 1)/p of it, not p - 1 times: messages are parts of it
    / world_size ->
Four bytes a number
    4 * ->
or
    4 * ->
    share * (y + x), share * (y + x)] -> share * (y + 2 * x), share * (2 * y + x)]
An all-reduce is a reduce-scatter and then an all-gather: each of these is half of it
    2 * share * weights -> share * weights
or
    share * (y + x) -> 2 * share * (y + x)
"""

EXERCISE = function_exercise(
    __name__,
    cases=sizes,
    tolerance=1e-9,
    mistakes=MISTAKES,
    hints="""
Per cut: what is summed for everybody (an all-reduce, 2n(p - 1)/p numbers from each rank), what is gathered, and of what does each rank need its own part of the sum (half of that)?
By examples: the gradients of weight and bias are summed. By outputs: y is gathered, and each rank of the layer before needs the gradient of its own part of x.
With s = (p - 1) / p * 4 bytes: 2 s outputs (inputs + 1); s batch (outputs + inputs); the third likewise.
""",
)
