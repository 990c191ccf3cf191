"""Exercise 09g: the matrix that cores stand for, to be mended where row modes and column modes differ."""

from course_lib.grading.exercise import Case
from course_lib.grading.exercises.chapter_09.shared import draw_cores
from course_lib.grading.exercises.common import function_exercise

# row modes, column modes, ranks
EQUAL = (((2, 2), (2, 2), (1,)), ((2, 2), (2, 2), (2,)), ((2, 3), (2, 3), (2,)))
UNEQUAL = (
    ((1, 2), (2, 1), (1,)),
    ((2, 1), (2, 2), (2,)),
    ((2, 3), (3, 2), (2,)),
    ((3,), (2,), ()),
    ((2, 1, 3), (1, 4, 2), (2, 2)),
    ((3, 1, 2), (1, 3, 1), (2, 3)),
)


def trains(rng):
    """Cores of TT-matrices: equal modes, as the colleague tried them, and unequal ones."""
    for forms, label in ((UNEQUAL, "unequal modes"), (EQUAL, "equal modes")):
        drawn = [draw_cores(rng, list(zip(rows, columns, strict=True)), ranks, 4) for rows, columns, ranks in forms]
        yield Case(1, [(cores,) for cores in drawn], (), label=label)


MISTAKES = r"""
That is what it gave before: which side of a core is the row digit's?
    _, m, n, s = -> _, n, m, s =
That is what it gave before, with rows and columns exchanged at the end
    _, m, n, s = -> _, n, m, s =
    matrix[:, :, 0] -> matrix[:, :, 0].T
That is Wᵀ: a core is [r, row digit, column digit, r']
    matrix[:, :, 0] -> matrix[:, :, 0].T
or
    _, m, n, s = -> core = core.transpose(1, 2)\n        _, m, n, s =
Old and new row digit belong together, as do the column digits: transpose before you reshape
    pairs.transpose(1, 2).reshape -> pairs.reshape
The first core's digits count most
    in cores: -> in [each.permute(3, 1, 2, 0) for each in reversed(cores)]:
The first row digit counts most, as the first column digit does
    return -> digits = [core.shape[1] for core in cores]\n    return
    matrix[:, :, 0] -> matrix[:, :, 0].reshape(*digits, -1).permute(*range(len(digits))[::-1], -1).reshape(matrix.shape[:2])
"""

EXERCISE = function_exercise(
    __name__,
    cases=trains,
    mistakes=MISTAKES,
    hints="""
Follow the example with the sizes of each tensor written down. Which letter is the row's?
A core is [r, m, n, r'], row digit before column digit: so pairs is [rows, columns, m, n, r'].
One line is wrong: that which takes the sizes from core.shape.
""",
)
