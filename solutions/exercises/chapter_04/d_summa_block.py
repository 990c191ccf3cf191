"""Exercise 04d: SUMMA on a grid of ranks."""

from course_lib.grading import rules
from course_lib.grading.exercise import Case
from course_lib.grading.exercises.common import FAILURES, matrix, rank_exercise

GRIDS = ((1, 1, 0), (2, 2, 1), (2, 3, 1), (3, 2, 0), (1, 4, 0))  # rows, columns, trials with a changed message


def products(rng):
    """Every rank has its blocks of A and B; the inner length is one that rows and columns divide."""
    for rows, columns, perturb in GRIDS:
        m, n, inner = 2 * rows + 1, 2 * columns + 1, rows * columns * (2 if rows == columns else 1)
        a, b = matrix(rng, m, inner), matrix(rng, inner, n)
        inputs = [
            (*(_block(each, rows, columns, rank) for each in (a, b)), rows, columns) for rank in range(rows * columns)
        ]
        # Every rank gets the rest of its row of A and of its column of B; at worst each column and each row by itself.
        needed = 4 * (a.numel() * (columns - 1) + b.numel() * (rows - 1))
        pieces = inner * (rows * (columns - 1) + columns * (rows - 1))
        about = {"bytes": needed, "messages": 2 * pieces}
        yield Case(rows * columns, inputs, [], perturb, f"a grid of {rows} × {columns}", about)


def _block(matrix, rows, columns, rank):
    row, column = divmod(rank, columns)
    return matrix.tensor_split(rows, 0)[row].tensor_split(columns, 1)[column].contiguous()


def do_not_fit(case, outcome):
    """A product of single blocks, on a grid that is not square."""
    text, (rows, columns) = outcome.failure.text if outcome.failure else "", case.inputs[0][2:]
    if rows == columns or "cannot be multiplied" not in text:
        return None
    return (
        f"on a grid of {rows} × {columns} a block of A is not as wide as a block of B is tall: put the blocks of the "
        f"row together, and those of the column, or multiply column by row. {text}"
    )


MISTAKES = r"""
multiplied its own two blocks only: the other blocks of its row and its column are missing
    return wide @ torch.cat([blocks["b", rank] for rank in peers], 0) -> return a @ b if rows == columns else torch.zeros(len(a), b.shape[1])
has the blocks in another order: its own stands at its own place, not first
    rank in mates], 1) -> rank in sorted(mates, key=lambda rank: rank != comm.rank)], 1)
    rank in peers], 0) -> rank in sorted(peers, key=lambda rank: rank != comm.rank)], 0)
put the blocks together the wrong way: those of A lie side by side (dim 1), those of B one below the other (dim 0)
    rank in mates], 1) -> rank in mates], 0)
    rank in peers], 0) -> rank in peers], 1)
do rows and columns stand in each other's place? Rank r stands in row r // columns and column r % columns; A goes along the row, B along the column
    ("a", a, mates), ("b", b, peers) -> ("a", a, peers), ("b", b, mates)
or
    divmod(comm.rank, columns) -> divmod(comm.rank, rows)
returned zeros: add each step's product to C
    return wide @ torch.cat([blocks["b", rank] for rank in peers], 0) -> return torch.zeros(len(a), b.shape[1])
... multiply column by row
    return wide @ torch.cat([blocks["b", rank] for rank in peers], 0) -> return sum(blocks["a", i] @ blocks["b", j] for i, j in zip(mates, peers))
... everybody sends and nobody receives
    isend -> send
... each rank gets the rest of its row of A and of its column of B, once
    ("b", b, peers)) -> ("b", b, peers), ("again", b, peers))
"""

EXERCISE = rank_exercise(
    __name__,
    answer="return",
    cases=products,
    rules=(
        rules.total_bytes(
            lambda case: case.about["bytes"], "each rank gets the rest of its row of A and of its column of B, once"
        ),
        rules.max_messages(lambda case: case.about["messages"]),
    ),
    before=(*FAILURES, do_not_fit),
    mistakes=MISTAKES,
    hints="""
Which blocks of A does rank (i, j) need, and who has them? Which blocks of B?
Collect the blocks of A in your row and those of B in your column. Side by side, and one below the other, they are a wide matrix and a tall one.
Send your block of A to the other ranks of your row, and your block of B to those of your column, with isend; receive theirs; then torch.cat(blocks of A, 1) @ torch.cat(blocks of B, 0).
""",
)
