"""Exercise 09a: what a matrix takes as a Tucker decomposition and as a tensor train."""

from math import prod

from course_lib.decomposition import tt_matrix_numbers
from course_lib.grading.exercises.common import function_exercise


def matrices(rng):
    """Row modes, column modes and a rank: from one mode to six, and the layer of the page."""
    yield from [([2, 3, 2], [5, 2, 2], 2), ([4, 4, 4, 4, 4, 4], [2, 7, 8, 8, 7, 4], 2)]
    for modes in (1, 2, 3, 4, 5):
        yield _drawn(rng, modes)


def _drawn(rng, modes):
    """Where no style of rounding matters: the quotient is not halfway between two whole numbers."""
    while True:
        rows, columns = (rng.integers(2, 10, modes).tolist() for _ in range(2))
        rank = int(rng.integers(2 + (modes == 1), 6))  # of one mode, 2 rank numbers differ from rank squared
        train = tt_matrix_numbers(rows, columns, rank)
        if 2 * prod(rows + columns) % (2 * train) != train:
            return rows, columns, rank


MISTAKES = r"""
Tucker's core has r^d numbers: the d is an exponent
    rank ** len(modes) -> rank * len(modes)
Tucker has a factor for each mode beside its core
    + sum(n * rank for n in modes) ->
Tucker has a core beside its factors: r^d numbers
    rank ** len(modes) + ->
Row digit and column digit k are one mode together: Tucker has d modes, not one for each digit
    n * rank for n in modes -> n * rank for n in row_modes + column_modes
or
    n * rank for n in modes -> n * rank for n in row_modes + column_modes
    rank ** len(modes) -> rank ** (2 * len(modes))
The first rank of a train and the last are 1, also of a TT-matrix
    [1, *[rank] * (len(modes) - 1), 1] -> [rank] * (len(modes) + 1)
A core has a rank on each side: r · m · n · r numbers
    ranks[k] * n * ranks[k + 1] -> rank * n
or
    ranks[k] * n * ranks[k + 1] -> ranks[k] * n
A single core has no neighbor, so both its ranks are 1
    train = sum( -> train = 2 * rank * modes[0] if len(modes) == 1 else sum(
A row digit and a column digit together have m · n values, not m + n
    m * n for -> m + n for
    math.prod(modes) -> math.prod(row_modes + column_modes)
or
    ranks[k] * n * -> ranks[k] * (row_modes[k] + column_modes[k]) *
Round the last number to the nearest whole one: `//` rounds down
    round(math.prod(modes) / train) -> math.prod(modes) // train
Round the last number to a whole one
    round(math.prod(modes) / train) -> math.prod(modes) / train
The last number compares the matrix with the tensor train
    math.prod(modes) / train -> math.prod(modes) / tucker
The last number says how many times *fewer*: the matrix over the train
    round(math.prod(modes) / train) -> train / math.prod(modes)
Tucker comes first, then the train
    return [tucker, train, -> return [train, tucker,
"""

EXERCISE = function_exercise(
    __name__,
    calls=matrices,
    label="matrices of one mode to six",
    mistakes=MISTAKES,
    hints="""
Digit k of the row and digit k of the column make one mode of m_k · n_k values: a tensor of d modes.
Tucker: a core of r · r · … · r, d times, and a factor of m_k n_k × r for each mode. Train: a core of r_(k-1) × m_k × n_k × r_k for each mode, with r_0 = r_d = 1.
ranks = [1] + [r] * (d - 1) + [1]; train = sum(ranks[k] * m[k] * n[k] * ranks[k + 1] for k in range(d)).
""",
)
