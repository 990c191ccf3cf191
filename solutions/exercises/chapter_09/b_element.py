"""Exercise 09b: one element of a tensor train."""

from course_lib.grading.exercise import Case
from course_lib.grading.exercises.chapter_09.shared import HUGE, draw_cores, too_large
from course_lib.grading.exercises.common import function_exercise

FORMS = {  # modes and ranks
    "modes alike": (((2, 2), (2,)), ((3, 3, 3), (3, 3)), ((3, 3, 3, 3), (2, 2, 2))),
    "unequal modes and ranks": (((5,), ()), ((2, 5, 3), (3, 2)), ((4, 2, 5, 3), (2, 4, 3)), ((3,) * 12, (2,) * 11)),
    "80 billion elements": ((HUGE, (2, 2)),),
}


def trains(rng):
    """Trains with modes and ranks alike; with unequal ones; of twelve modes; and one whose tensor nobody can hold."""
    for label, forms in FORMS.items():
        calls = []
        for modes, ranks in forms:
            most = 1 if len(modes) > 5 else 5
            calls.append((draw_cores(rng, modes, ranks, most), [int(rng.integers(n)) for n in modes]))
        yield Case(1, calls, (), label=label)


def other_side(case, outcome):
    """Matrices that do not fit, or an index beyond a side."""
    failure = outcome.failure
    if failure is None or failure.cause not in ("RuntimeError", "IndexError") or "alloc" in failure.text.lower():
        return None
    return f"A core is r × n × r', and its matrix for the index i is core[:, i], r × r'. {failure.text}"


MISTAKES = r"""
Indices count from 0
    core[:, place] -> core[:, place - 1]
A product of matrices is not the product of the sums of their numbers
    row @ core[:, place] -> row * core[:, place].sum()
The first index belongs to the first core
    zip(cores, index, -> zip(cores, reversed(index),
    core[:, place] -> core[:, place % core.shape[1]]
Multiply the matrices, do not add them up
    torch.ones(1, 1) -> torch.zeros(1, 1)
    row @ core[:, place] -> row + core[:, place].sum()
The matrix of a core is r × r', the rank on its left first: here it is transposed
    core[:, place] -> (core[:, place].T if core.shape[0] == core.shape[2] else core[:, place])
... its matrix for the index i is core[:, i]
    core[:, place] -> core[place]
... the table with all elements fits into no memory
    row @ core[:, place] -> torch.tensordot(row, core, 1)
    row.item() -> row[0, ..., 0][tuple(index)].item()
"""

EXERCISE = function_exercise(
    __name__,
    cases=trains,
    mistakes=MISTAKES,
    before=(
        too_large("An element needs one matrix of each core; the table with all elements fits into no memory"),
        other_side,
    ),
    hints="""
Of each core one matrix is needed: which?
core[:, i] is the matrix of index i, r × r'. The first is a row, the last a column.
row = cores[0][:, index[0]]; for the others row = row @ core[:, i]; return row.item().
""",
)
