"""Exercise 10f: a step of PowerSGD over a communicator: thin matrices are summed on the way."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import torch

from course_lib.grading.exercise import Case, Exercise
from course_lib.grading.exercises.common import FAILURES, Mistakes, all_reduced, given_nothing, mistaken

__all__ = ["EXERCISE"]


# Cases

SHAPES = ((1, 6, 5, 2), (2, 7, 8, 1), (3, 12, 10, 2), (4, 16, 12, 3))  # ranks, rows, columns, r
NEAR = 1e-3  # of the norm; float32 and any way to orthogonalize come much closer


def gradients(rng: np.random.Generator) -> Iterator[Case]:
    """Matrices of whole numbers, and a q that is the same on all ranks; the columns of P are far from parallel."""
    for world_size, rows, columns, r in SHAPES:
        while True:
            matrices = rng.integers(-20, 21, (world_size, rows, columns))
            q = rng.integers(-5, 6, (columns, r))
            if np.linalg.cond(matrices.sum(0) @ q) < 10:
                break
        inputs = [(torch.tensor(m, dtype=torch.float32), torch.tensor(q, dtype=torch.float32)) for m in matrices]
        summed = torch.stack([matrix.double() for matrix, _ in inputs]).sum(0)
        p = torch.linalg.qr(summed @ inputs[0][1].double()).Q
        label = f"world_size {world_size}, a matrix of {rows} × {columns}, r = {r}"
        yield Case(world_size, inputs, [_near(p @ p.T @ summed)] * world_size, label=label)


def _near(right: torch.Tensor) -> Callable[[object], str | None]:
    """Says how far a value is from this matrix, if it is."""

    def check(value: object) -> str | None:
        if isinstance(value, (list, tuple)) and any(isinstance(each, torch.Tensor) for each in value):
            return f"returned {len(value)} matrices; asked for is one, the product P Qᵀ"
        came = torch.as_tensor(value).double()
        if came.shape != right.shape:
            return f"returned a tensor of shape {tuple(came.shape)}, the product P Qᵀ has {tuple(right.shape)}"
        off = float((came - right).norm() / right.norm())
        return None if off < NEAR else f"returned a matrix that is {off:.1%} of its norm away from P Qᵀ"

    return check


# Diagnoses


def slips(case: Case) -> Mistakes:
    size, q = case.world_size, case.inputs[0][1].double()
    matrices = [matrix.double() for matrix, _ in case.inputs]
    summed = torch.stack(matrices).sum(0)
    raw = summed @ q
    p = _orthogonal(raw)
    everywhere = [
        ("multiplied a P whose columns are not orthogonal and of length 1", raw @ raw.T @ summed),
        (
            "made the columns of P of length 1, but not orthogonal to each other",
            (unit := raw / raw.norm(dim=0)) @ unit.T @ summed,
        ),
        (
            "divided P by the norm of the whole matrix: each column has length 1, and they are orthogonal",
            (raw / raw.norm()) @ (raw / raw.norm()).T @ summed,
        ),
        ("multiplied P by the q of before; asked for is the new Q, the sum of all Mᵀ P", raw @ q.T),
        ("multiplied the orthogonal P by the q of before; asked for is the new Q", p @ q.T),
        ("has the mean; asked for is the sum", p @ p.T @ summed / size),
        ("returned the sum of all matrices: asked for is its approximation, P Qᵀ", summed),
    ]
    for text, product in everywhere:
        yield text, [_near(product)] * size
    yield "did not sum Q: every rank has only its own Mᵀ P", [_near(p @ p.T @ matrix) for matrix in matrices]
    for positive in (False, True):
        own = [_orthogonal(matrix @ q, positive) for matrix in matrices]
        both = torch.stack(own).sum(0)
        yield "orthogonalized P before it was summed", [_near(both @ both.T @ summed)] * size
        new = torch.stack([matrix.T @ mine for matrix, mine in zip(matrices, own, strict=True)]).sum(0)
        yield "did not sum P: every rank has only its own M q", [_near(mine @ new.T) for mine in own]


def _orthogonal(p: torch.Tensor, positive: bool = False) -> torch.Tensor:
    """An orthonormal basis of the columns, with the signs of LAPACK or those of Gram and Schmidt."""
    orthogonal, upper = torch.linalg.qr(p)
    return orthogonal * upper.diagonal().sign() if positive else orthogonal


# The exercise

EXERCISE = Exercise(
    id="10f",
    title="A sum of thin matrices",
    function="power_step",
    points=5,
    answer="return",
    cases=gradients,
    rules=all_reduced(
        lambda case: sum(case.tensor.shape) * case.inputs[0][1].shape[1],
        "only P and Q cross the wire, r (rows + columns) numbers",
    ),
    diagnoses=(*FAILURES, given_nothing, mistaken(slips)),
    perturbation=None,  # a change of P that orthogonalizing takes away need not show
    hints=(
        "p = matrix @ q, summed over the ranks with all_reduce. Name it first: all_reduce changes it in place.",
        "torch.linalg.qr(p).Q has the same columns' span, orthogonal and of length 1. Every rank gets the same.",
        "Then q = matrix.T @ p, summed as well, and p @ q.T is returned.",
    ),
)
