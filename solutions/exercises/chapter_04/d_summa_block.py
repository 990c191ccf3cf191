"""Exercise 04d: SUMMA on a grid of ranks."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch

from course_lib.grading import rules
from course_lib.grading.exercise import Case, Exercise, Outcome
from course_lib.grading.exercises.common import FAILURES, Mistakes, matrix, mistaken

__all__ = ["EXERCISE"]


# Cases

GRIDS = ((1, 1, 0), (2, 2, 1), (2, 3, 1), (3, 2, 0), (1, 4, 0))  # rows, columns, trials with a changed message


def products(rng: np.random.Generator) -> Iterator[Case]:
    """Every rank has its blocks of A and B; the inner length is one that rows and columns divide."""
    for rows, columns, perturb in GRIDS:
        m, n, inner = 2 * rows + 1, 2 * columns + 1, rows * columns * (2 if rows == columns else 1)
        a, b = matrix(rng, m, inner), matrix(rng, inner, n)
        c = a @ b
        blocks = [(_block(a, rows, columns, rank), _block(b, rows, columns, rank)) for rank in range(rows * columns)]
        inputs = [(mine, other, rows, columns) for mine, other in blocks]
        expected = [_block(c, rows, columns, rank) for rank in range(rows * columns)]
        about = {"grid": (rows, columns), "inner": inner, "a": a, "b": b}
        yield Case(rows * columns, inputs, expected, perturb, f"a grid of {rows} × {columns}", about)


def _block(matrix: torch.Tensor, rows: int, columns: int, rank: int) -> torch.Tensor:
    row, column = divmod(rank, columns)
    return matrix.tensor_split(rows, 0)[row].tensor_split(columns, 1)[column].contiguous()


# Rules


def needed_bytes(case: Case) -> float:
    """Every rank gets the rest of its row of A and of its column of B."""
    rows, columns = case.about["grid"]
    a, b = case.about["a"], case.about["b"]
    return 4 * (a.numel() * (columns - 1) + b.numel() * (rows - 1))


def needed_messages(case: Case) -> float:
    """One for each column of A and each row of B that a rank gets; twice that is enough."""
    rows, columns = case.about["grid"]
    return 2 * case.about["inner"] * (rows * (columns - 1) + columns * (rows - 1))


# Diagnoses


def slips(case: Case) -> Mistakes:
    ranks = range(case.world_size)
    rows, columns = case.about["grid"]
    a, b = case.about["a"], case.about["b"]
    if rows == columns:
        own = [mine @ other for mine, other, _, _ in case.inputs]
        yield "multiplied its own two blocks only: the other blocks of its row and its column are missing", own
    yield "returned all of C; asked for is this rank's block", [a @ b for _ in ranks]
    yield "has the blocks in another order: its own stands at its own place, not first", _own_first(case)
    turned = [_block((a @ b).T.contiguous(), columns, rows, rank) for rank in ranks]
    yield "returned the block of another place: rank r stands in row r // columns, column r % columns", turned
    yield "returned zeros: add each step's product to C", [torch.zeros_like(right) for right in case.expected]


def _own_first(case: Case) -> list[torch.Tensor]:
    """Each rank's product, with its own block in front of those that it got."""
    rows, columns = case.about["grid"]
    inputs, products = case.inputs, []
    for rank, (mine, other, *_) in enumerate(inputs):
        row, column = divmod(rank, columns)
        wide = [inputs[row * columns + place][0] for place in range(columns) if place != column]
        tall = [inputs[place * columns + column][1] for place in range(rows) if place != row]
        products.append(torch.cat([mine, *wide], 1) @ torch.cat([other, *tall]))
    return products


def do_not_fit(case: Case, outcome: Outcome) -> str | None:
    """A product of single blocks, on a grid that is not square."""
    text, (rows, columns) = outcome.failure.text if outcome.failure else "", case.about["grid"]
    if rows == columns or "cannot be multiplied" not in text:
        return None
    return (
        f"on a grid of {rows} × {columns} a block of A is not as wide as a block of B is tall: put the blocks of the "
        f"row together, and those of the column, or multiply column by row. {text}"
    )


# The exercise

EXERCISE = Exercise(
    id="04d",
    title="SUMMA",
    function="summa_block",
    points=6,
    answer="return",
    cases=products,
    rules=(
        rules.total_bytes(needed_bytes, "each rank gets the rest of its row of A and of its column of B, once"),
        rules.most_messages(needed_messages),
    ),
    diagnoses=(*FAILURES, do_not_fit, mistaken(slips)),
    hints=(
        "Which blocks of A does rank (i, j) need, and who has them? Which blocks of B?",
        "Collect the blocks of A in your row and those of B in your column. Side by side, and one below the other, "
        "they are a wide matrix and a tall one.",
        "Send your block of A to the other ranks of your row, and your block of B to those of your column, with isend; "
        "receive theirs; then torch.cat(blocks of A, 1) @ torch.cat(blocks of B, 0).",
    ),
)
