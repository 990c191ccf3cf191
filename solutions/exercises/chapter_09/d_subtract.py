"""Exercise 09d: the difference of two tensor trains."""

import numpy as np

from course_lib.decomposition import TensorTrain, tt_add, tt_scale
from course_lib.grading.exercise import Case
from course_lib.grading.exercises.chapter_09.shared import HUGE, alike, as_train, draw_cores, too_large
from course_lib.grading.exercises.common import function_exercise

ENTRIES = 200  # of a huge tensor that are looked at
NEAR = 0.1  # to a whole number, for those who round by an SVD
UNEQUAL = (((4,), (), ()), ((3, 4), (2,), (3,)), ((2, 4, 3), (1, 3), (2, 2)), ((3, 2, 2, 4), (2, 3, 1), (1, 2, 3)))
FORMS = {  # modes, ranks of A, ranks of B
    "equal ranks": (((2, 2), (1,), (1,)), ((2, 3, 2, 3), (2, 1, 2), (2, 1, 2)), ((3, 2, 4), (2, 2), (2, 2))),
    "unequal ranks": UNEQUAL,
    "80 billion elements": ((HUGE, (2, 1), (1, 2)),),
}


def pairs(rng):
    """Two trains of the same modes: of equal ranks, of unequal ones, of a single mode, and of a huge tensor."""
    for label, forms in FORMS.items():
        calls = [(draw_cores(rng, modes, one), draw_cores(rng, modes, other)) for modes, one, other in forms]
        yield Case(1, calls, [_is_difference(*call) for call in calls], label=label)


def _is_difference(a, b):
    right = tt_add(TensorTrain(tuple(a)), tt_scale(TensorTrain(tuple(b)), -1))

    def judge(value):
        train = as_train(value, right.shape)
        if isinstance(train, str):
            return train
        for index in _places(right.shape):
            wanted, came = right.element(index).item(), train.element(index).item()
            if not abs(wanted - came) < NEAR:
                return f"gave a train whose entry at {index} is {came:.6g}; A − B has {wanted:.6g} there"
        if any(rank > enough for rank, enough in zip(train.ranks, right.ranks, strict=True)):
            return f"gave ranks {train.ranks}; {right.ranks} are enough, those of A and of B added up"
        return None

    return judge


def _places(shape):
    """All indices of a small tensor, some of a huge one."""
    if np.prod(shape) < 10 * ENTRIES:
        return [list(map(int, index)) for index in np.ndindex(*shape)]
    rng = np.random.default_rng(0)
    return [[int(rng.integers(n)) for n in shape] for _ in range(ENTRIES)]


MISTAKES = r"""
With a minus in each core an entry gets (−1)^d of them: one core of B is enough
    = left, right -> = left, -right
    , b[-1]] -> , -b[-1]]
That is A + B
    , -b[0]] -> , b[0]]
    - b[0] -> + b[0]
That is B − A
    [a[0], -b[0]] -> [-a[0], b[0]]
    a[0] - b[0] -> b[0] - a[0]
An entry is a product of all cores: subtracting cores does not subtract entries
    len(a) == 1 -> len(a) > 0
    [a[0] - b[0]] -> [x - y for x, y in zip(a, b, strict=True)]
A's matrix stands above on the left and B's below on the right: so A's numbers meet A's alone
    core[:r, :, :r_next], core[r:, :, r_next:] -> core[:r, :, s_next:], core[r:, :, :s_next]
... the first rank and the last are 1
    [torch.cat([a[0], -b[0]], 2)] -> []
    a[1:-1], b[1:-1] -> a, b
    [*cores, torch.cat([a[-1], b[-1]], 0)] -> cores
... numbers that are none
    torch.cat([a[-1], b[-1]], 0) -> float("nan") * torch.cat([a[-1], b[-1]], 0)
... the table itself fits into no memory
    if len(a) == 1: -> table = a[0]\n    for core in a[1:]:\n        table = torch.tensordot(table, core, 1)\n    if len(a) == 1:
"""

EXERCISE = function_exercise(
    __name__,
    cases=pairs,
    mistakes=MISTAKES,
    like=alike,
    before=(too_large("The cores of A − B are made of those of A and B; the table itself fits into no memory"),),
    hints="""
(row of A, row of B) · (A's matrix above left, B's below right, zeros elsewhere) keeps both products apart.
The first cores stand beside each other, the last below each other: there the two products are added. The minus belongs into one core of B. With a single mode, first and last core are the same: subtract.
torch.cat([a, b], 2) for the first, torch.cat([a, b], 0) for the last; between them a core of zeros, [r + s, n, r' + s'], with core[:r, :, :r'] = a and core[r:, :, r':] = b.
""",
)
