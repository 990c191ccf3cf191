"""Exercise 04f: a halo that is too short, to be mended."""

from course_lib.grading.exercises.common import function_exercise


def kernels(rng):
    """Output rows, kernel, stride, padding, dilation."""
    yield 0, 4, 3, 1, 1, 1
    yield 4, 8, 3, 1, 1, 2
    yield 2, 5, 5, 2, 2, 3
    for _ in range(4):
        start = int(rng.integers(0, 50))
        kernel = [int(rng.integers(*ends)) for ends in ((2, 8), (1, 4), (0, 4), (2, 5))]
        yield start, start + int(rng.integers(1, 9)), *kernel


MISTAKES = r"""
That is what it gave before: try dilation 2
    dilation * (size - 1) + 1 -> size
A kernel of 3 with dilation 2 spans 5 rows, not 6: the last gap is none
    dilation * (size - 1) + 1 -> size * dilation
Each of the kernel's gaps grows, not one of them
    dilation * (size - 1) + 1 -> size + dilation - 1
Dilation may be more than 2
    dilation * (size - 1) + 1 -> (2 * size - 1 if dilation > 1 else size)
Rows `start` to `stop` do not hold `stop`: the last output row is stop - 1
    (stop - 1) -> stop
Asked for is the row after the last one that is needed, not that row itself
    (size - 1) + 1 -> (size - 1)
Rows beyond the picture are not cut off here
    [first, last] -> [max(0, first), last]
Padding is counted in rows: dilation does not spread it
    - padding -> - padding * dilation
Dilation spreads the kernel; it does not move where it begins
    start * stride - padding -> (start * stride - padding) * dilation
    (stop - 1) * stride - padding -> ((stop - 1) * stride - padding) * dilation
"""

EXERCISE = function_exercise(
    __name__,
    calls=kernels,
    label="the rows that are needed",
    mistakes=MISTAKES,
    hints="""
With dilation 1 the function is right. Draw a kernel of 3 with dilation 2: which rows does it touch?
A kernel of `size` rows has size - 1 gaps, and each is `dilation` rows wide.
From the first row to the last one it touches: dilation * (size - 1) + 1 rows.
""",
)
