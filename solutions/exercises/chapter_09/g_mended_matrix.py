"""Exercise 09g: the matrix that cores stand for, to be mended where row modes and column modes differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import torch

from course_lib.decomposition import TTMatrix
from course_lib.grading.exercise import Case
from course_lib.grading.exercises.chapter_09.shared import draw_cores
from course_lib.grading.exercises.common import Reasons, function_exercise

__all__ = ["EXERCISE"]


# Cases

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


def trains(rng: np.random.Generator) -> Iterator[Case]:
    """Cores of TT-matrices: equal modes, as the colleague tried them, and unequal ones."""
    for forms, label in ((UNEQUAL, "unequal modes"), (EQUAL, "equal modes")):
        drawn = [draw_cores(rng, list(zip(rows, columns, strict=True)), ranks, 4) for rows, columns, ranks in forms]
        yield Case(1, [(cores,) for cores in drawn], list(map(_matrix, drawn)), label=label)


def _matrix(cores: Sequence[torch.Tensor]) -> torch.Tensor:
    return TTMatrix(tuple(cores)).full()


# Diagnoses


def reasons(cores: Sequence[torch.Tensor]) -> Reasons:
    right, rows = _matrix(cores), [core.shape[1] for core in cores]
    yield "That is what it gave before: which side of a core is the row digit's?", _read(cores, swapped=True)
    yield "That is what it gave before, with rows and columns exchanged at the end", _read(cores, swapped=True).T
    yield "That is Wᵀ: a core is [r, row digit, column digit, r']", _matrix([core.transpose(1, 2) for core in cores])
    apart = _read(cores, apart=False)
    yield "Old and new row digit belong together, as do the column digits: transpose before you reshape", apart
    order = [*reversed(range(len(rows)))]
    yield "The first core's digits count most", _matrix([core.permute(3, 1, 2, 0) for core in reversed(cores)])
    turned = right.reshape(*rows, -1).permute(*order, len(rows)).reshape(right.shape)
    yield "The first row digit counts most, as the first column digit does", turned


def _read(cores: Sequence[torch.Tensor], *, swapped: bool = False, apart: bool = True) -> torch.Tensor:
    """The colleague's program, with its mistake or with another."""
    matrix = torch.ones(1, 1, 1)
    for core in cores:
        rows, columns, _ = matrix.shape
        _, m, n, s = core.shape
        m, n = (n, m) if swapped else (m, n)
        pairs = torch.tensordot(matrix, core, 1)
        matrix = (pairs.transpose(1, 2) if apart else pairs).reshape(rows * m, columns * n, s)
    return matrix[:, :, 0]


# The exercise

EXERCISE = function_exercise(
    id="09g",
    title="Find the bug",
    function="mended_matrix",
    points=3,
    cases=trains,
    reasons=reasons,
    hints=(
        "Follow the example with the sizes of each tensor written down. Which letter is the row's?",
        "A core is [r, m, n, r'], row digit before column digit: so pairs is [rows, columns, m, n, r'].",
        "One line is wrong: that which takes the sizes from core.shape.",
    ),
)
