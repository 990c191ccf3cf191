"""Exercise 09e: a TT-matrix times a vector, without the matrix."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

import numpy as np
import torch

from course_lib.decomposition import tt_product
from course_lib.grading.exercise import Case, whole_numbers
from course_lib.grading.exercises.chapter_09.shared import draw_cores, numbers, too_large
from course_lib.grading.exercises.common import Reasons, function_exercise

__all__ = ["EXERCISE"]


# Cases

FORMS: dict[str, tuple] = {  # row modes, column modes, ranks
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


def products(rng: np.random.Generator) -> Iterator[Case]:
    """Cores and a vector: digits alike, digits unlike, and a matrix that fits into no memory."""
    for label, forms in FORMS.items():
        calls = []
        for rows, columns, ranks in forms:
            most = 1 if rows[0] > 9 else 4
            cores = draw_cores(rng, list(zip(rows, columns, strict=True)), ranks, most)
            calls.append((cores, whole_numbers(rng, prod(columns), most=3 * most)))
        yield Case(1, calls, [numbers(_product(*call)) for call in calls], label=label)


def _product(cores: Sequence[torch.Tensor], x: torch.Tensor) -> torch.Tensor:
    return tt_product(cores, x[None])[0]


# Diagnoses


def reasons(cores: Sequence[torch.Tensor], x: torch.Tensor) -> Reasons:
    rows, columns = [core.shape[1] for core in cores], [core.shape[2] for core in cores]
    y = _product(cores, x)
    if rows == columns:
        transposed = _product([core.transpose(1, 2) for core in cores], x)
        yield "That is Wᵀx: a core is [r, row digit, column digit, r'], and its columns meet x", numbers(transposed)
    reversed_y = numbers(_digits_reversed(y, rows))
    yield "The digits of y are in the reverse order: the first row digit counts most", reversed_y
    x_turned = _digits_reversed(x, columns)
    yield "The digits of x were read in the reverse order: the first counts most", numbers(_product(cores, x_turned))
    summed = [core.sum((0, 3), keepdim=True) for core in cores]
    yield "A rank between two cores is summed once, over both together", numbers(_product(summed, x))
    yield "The new row digit must go to the end, behind the digits that are still there", numbers(_stays(cores, x))
    first = [core[:1, :, :, :1] for core in cores]
    yield "Sum over the whole rank, not over its first value", numbers(_product(first, x))


def _digits_reversed(vector: torch.Tensor, modes: Sequence[int]) -> torch.Tensor:
    return vector.reshape(tuple(modes)).permute(*reversed(range(len(modes)))).reshape(-1)


def _stays(cores: Sequence[torch.Tensor], x: torch.Tensor) -> torch.Tensor:
    """The new digit left in front, where the next core takes it for its column digit."""
    state = x
    for core in cores:
        r, m, n, s = core.shape
        if state.numel() % (r * n):
            return torch.zeros(0)
        state = core.permute(3, 1, 0, 2).reshape(s * m, r * n) @ state.reshape(r * n, -1)
    return state


# The exercise

EXERCISE = function_exercise(
    id="09e",
    title="A product without the matrix",
    function="product",
    points=5,
    cases=products,
    reasons=reasons,
    before=(too_large("The whole matrix fits into no memory: take x through one core after the other"),),
    hints=(
        "Keep a state [r, j_k … j_d, i_1 … i_(k−1)]; it begins as x, with r = 1. A core sums over r and j_k.",
        "state.reshape(r * n, -1) has both in front. The core as a matrix: "
        "core.permute(3, 1, 0, 2).reshape(s * m, r * n).",
        "Their product is [s · m, others]. reshape(s, m, -1).transpose(1, 2) takes the row digit to the end. After the "
        "last core, reshape(-1).",
    ),
)
