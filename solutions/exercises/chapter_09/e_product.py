"""Exercise 09e: a TT-matrix times a vector, without the matrix."""

from math import prod

from course_lib.grading.exercise import Case, whole_numbers
from course_lib.grading.exercises.chapter_09.shared import draw_cores, numbers, too_large
from course_lib.grading.exercises.common import function_exercise

FORMS = {  # row modes, column modes, ranks
    "equal modes": (((2, 2), (2, 2), (1,)), ((2, 2), (2, 2), (2,)), ((2, 2, 2), (2, 2, 2), (2, 2))),
    "unequal modes": (
        ((3,), (4,), ()),
        ((2, 3), (3, 2), (2,)),
        ((2, 3, 2), (3, 2, 4), (2, 3)),
        ((1, 3, 2), (4, 1, 2), (2, 2)),
        ((3, 2, 2, 2), (2, 1, 3, 2), (2, 3, 2)),
    ),
    # A list of y fits into a frame.
    "48,000 rows and 320,000 columns": (((40, 30, 40), (64, 50, 100), (2, 2)),),
}


def products(rng):
    """Cores and a vector: digits alike, digits unlike, and a matrix that fits into no memory."""
    for label, forms in FORMS.items():
        calls = []
        for rows, columns, ranks in forms:
            most = 1 if rows[0] > 9 else 4
            cores = draw_cores(rng, list(zip(rows, columns, strict=True)), ranks, most)
            calls.append((cores, whole_numbers(rng, prod(columns), most=3 * most)))
        yield Case(1, calls, (), label=label)


MISTAKES = r"""
That is Wᵀx: a core is [r, row digit, column digit, r'], and its columns meet x
    r, m, n, s = -> r, n, m, s =
    permute(3, 1, 0, 2) -> permute(3, 2, 0, 1)
The digits of y are in the reverse order: the first row digit counts most
    return state.reshape(-1) -> return state.reshape([c.shape[1] for c in cores]).permute(*range(len(cores))[::-1]).reshape(-1)
The digits of x were read in the reverse order: the first counts most
    state = x -> state = x.reshape([c.shape[2] for c in cores]).permute(*range(len(cores))[::-1]).reshape(-1)
A rank between two cores is summed once, over both together
    r, m, n, s = -> core = core.sum((0, 3), keepdim=True)\n        r, m, n, s =
The new row digit must go to the end, behind the digits that are still there
    state = state.reshape(s, m, -1).transpose(1, 2) ->
Sum over the whole rank, not over its first value
    r, m, n, s = -> core = core[:1, :, :, :1]\n        r, m, n, s =
... The whole matrix fits into no memory
    state = x -> matrix = cores[0]\n    for core in cores[1:]:\n        matrix = torch.tensordot(matrix, core, 1)\n    state = x
"""

EXERCISE = function_exercise(
    __name__,
    cases=products,
    mistakes=MISTAKES,
    like=numbers,
    before=(too_large("The whole matrix fits into no memory: take x through one core after the other"),),
    hints="""
Keep a state [r, j_k … j_d, i_1 … i_(k−1)]; it begins as x, with r = 1. A core sums over r and j_k.
state.reshape(r * n, -1) has both in front. The core as a matrix: core.permute(3, 1, 0, 2).reshape(s * m, r * n).
Their product is [s · m, others]. reshape(s, m, -1).transpose(1, 2) takes the row digit to the end. After the last core, reshape(-1).
""",
)
