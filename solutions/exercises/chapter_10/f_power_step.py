"""Exercise 10f: a step of PowerSGD over a communicator: thin matrices are summed on the way."""

import numpy as np
import torch

from course_lib.grading.exercise import WIDE, Case
from course_lib.grading.exercises.common import FAILURES, all_reduced, given_nothing, rank_exercise

# Ranks, rows, columns, r: four numbers of a matrix for each of P and Q, so that no way to pack it gets through.
SHAPES = ((1, 6, 5, 2), (2, 9, 8, 1), (3, 20, 16, 2), (4, 28, 24, 3))
NEAR = 1e-3  # of the norm; float32 and any way to orthogonalize come much closer


def gradients(rng):
    """Matrices of wide whole numbers, and a q that is the same on all ranks; the columns of P are far from parallel."""
    for world_size, rows, columns, r in SHAPES:
        while True:
            matrices = rng.integers(-WIDE, WIDE, (world_size, rows, columns))
            q = rng.integers(-5, 6, (columns, r))
            if np.linalg.cond(matrices.sum(0) @ q) < 10:
                break
        inputs = [(torch.tensor(m, dtype=torch.float32), torch.tensor(q, dtype=torch.float32)) for m in matrices]
        summed = torch.tensor(matrices.sum(0)).double()
        p = torch.linalg.qr(summed @ inputs[0][1].double()).Q
        label = f"world_size {world_size}, a matrix of {rows} × {columns}, r = {r}"
        yield Case(world_size, inputs, [_near(p @ p.T @ summed)] * world_size, label=label)


def _near(right):
    """Says how far a value is from this matrix, if it is."""

    def check(value):
        if isinstance(value, (list, tuple)) and any(isinstance(each, torch.Tensor) for each in value):
            return f"returned {len(value)} matrices; asked for is one, the product P Qᵀ"
        came = torch.as_tensor(value).double()
        if came.shape != right.shape:
            return f"returned a tensor of shape {tuple(came.shape)}, the product P Qᵀ has {tuple(right.shape)}"
        off = float((came - right).norm() / right.norm())
        return None if off < NEAR else f"returned a matrix that is {off:.1%} of its norm away from P Qᵀ"

    return check


MISTAKES = r"""
multiplied a P whose columns are not orthogonal and of length 1
    p = torch.linalg.qr(p).Q ->
made the columns of P of length 1, but not orthogonal to each other
    torch.linalg.qr(p).Q -> p / p.norm(dim=0)
divided P by the norm of the whole matrix: each column has length 1, and they are orthogonal
    torch.linalg.qr(p).Q -> p / p.norm()
kept the R of QR: P is the orthogonal Q of it alone
    p = torch.linalg.qr(p).Q -> p, upper = torch.linalg.qr(p)
    p @ q.T -> p @ upper @ q.T
multiplied P by the q of before; asked for is the new Q, the sum of all Mᵀ P
    p = torch.linalg.qr(p).Q\n    q = matrix.T @ p\n    all_reduce(comm, q)\n    return -> return
multiplied the orthogonal P by the q of before; asked for is the new Q
    q = matrix.T @ p\n    all_reduce(comm, q)\n    return -> return
has the mean; asked for is the sum
    p @ q.T -> p @ q.T / comm.world_size
returned the sum of all matrices: asked for is its approximation, P Qᵀ
    return p @ q.T -> total = matrix.clone()\n    all_reduce(comm, total)\n    return total
did not sum Q: every rank has only its own Mᵀ P
    all_reduce(comm, q) ->
orthogonalized P before it was summed
    all_reduce(comm, p)\n    p = torch.linalg.qr(p).Q -> p = torch.linalg.qr(p).Q\n    all_reduce(comm, p)
or
    all_reduce(comm, p)\n    p = torch.linalg.qr(p).Q -> p, upper = torch.linalg.qr(p)\n    p = p * upper.diagonal().sign()\n    all_reduce(comm, p)
did not sum P: every rank has only its own M q
    all_reduce(comm, p) ->
or
    all_reduce(comm, p)\n    p = torch.linalg.qr(p).Q -> p, upper = torch.linalg.qr(p)\n    p = p * upper.diagonal().sign()
... only P and Q cross the wire
    p = matrix @ q -> matrix = matrix.clone()\n    all_reduce(comm, matrix)\n    p = matrix @ q
    all_reduce(comm, p) ->
    all_reduce(comm, q) ->
"""

EXERCISE = rank_exercise(
    __name__,
    answer="return",
    cases=gradients,
    rules=all_reduced(
        lambda case: sum(case.tensor.shape) * case.inputs[0][1].shape[1],
        "only P and Q cross the wire, r (rows + columns) numbers",
    ),
    before=(*FAILURES, given_nothing),
    mistakes=MISTAKES,
    alike=lambda one, other: _near(one.double())(other) is None,
    perturbation=None,  # a change of P that orthogonalizing takes away need not show
    hints="""
p = matrix @ q, summed over the ranks with all_reduce. Name it first: all_reduce changes it in place.
torch.linalg.qr(p).Q has the same columns' span, orthogonal and of length 1. Every rank gets the same.
Then q = matrix.T @ p, summed as well, and p @ q.T is returned.
""",
)
