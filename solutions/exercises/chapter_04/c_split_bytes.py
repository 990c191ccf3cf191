"""Exercise 04c: what a rank sends for a layer that is cut by examples, by outputs and by inputs, by calculation."""

from course_lib.grading.exercises.common import function_exercise


def sizes(rng):
    """Sizes that the ranks divide, so that all ranks send the same."""
    yield 8, 16, 4, 2
    for world_size in (2, 4, 8, 1):
        yield (*(int(rng.integers(2, 99)) * 8 for _ in range(3)), world_size)


MISTAKES = r"""
The bias has a gradient, too
    (inputs + 1) -> inputs
That is right for a layer by itself. A neighbor that is cut alike needs its own part of x_grad, or of y: a reduce-scatter, half of an all-reduce
    share * (y + x), share * (y + x)] -> share * (y + 2 * x), share * (2 * y + x)]
or
    share * (y + x), share * (y + x)] -> share * (2 * y + x), share * (y + 2 * x)]
That is the forward pass; on the way back the gradient of x crosses, too
    share * (y + x) -> share * y
or
    2 * share * weights, share * (y + x), share * (y + x)] -> 0, share * y, share * y]
or
    share * (y + x), share * (y + x)] -> share * y, 2 * share * y]
`batch` counts the examples of all ranks; a rank that has part of the weight computes with all of them
    batch * -> batch / world_size *
A weight that is cut has its gradient where it lies: only activations cross then
    share * (y + x) -> share * (2 * weights + y + x)
A ring sends (p - 1)/p of it: each rank has a part already
    (world_size - 1) / world_size -> 1
A ring sends (p - 1)/p of it, not p - 1 times: messages are parts of it
    / world_size ->
Four bytes a number
    4 * ->
An all-reduce is a reduce-scatter and then an all-gather: each of these is half of it
    2 * share * weights -> share * weights
or
    share * (y + x) -> 2 * share * (y + x)
"""

EXERCISE = function_exercise(
    id="04c",
    title="Bytes of three cuts",
    function="split_bytes",
    points=4,
    calls=sizes,
    label="bytes of three cuts",
    tolerance=1e-9,
    mistakes=MISTAKES,
    hints="""
Per cut: what is summed for everybody (an all-reduce, 2n(p - 1)/p numbers from each rank), what is gathered, and of what does each rank need its own part of the sum (half of that)?
By examples: the gradients of weight and bias are summed. By outputs: y is gathered, and each rank of the layer before needs the gradient of its own part of x.
With s = (p - 1) / p * 4 bytes: 2 s outputs (inputs + 1); s batch (outputs + inputs); the third likewise.
""",
)
