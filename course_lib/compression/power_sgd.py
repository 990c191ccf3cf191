"""PowerSGD: a gradient's matrix as a product of two thin ones, which can be added on the way.

M [n, m] ≈ P Qᵀ, P [n, r], Q [m, r]. In each step P = M Q, summed over the ranks and made orthogonal, then Q = Mᵀ P,
summed too: one round of the power method, which starts from the Q of the step before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import torch

from course_lib.collectives import ring_all_reduce
from course_lib.comm import Communicator

__all__ = ["PowerSGD", "as_matrix", "gradients_in", "power_sgd_bytes"]


def as_matrix(shape: Sequence[int]) -> tuple[int, int] | None:
    """Rows and columns of a gradient seen as a matrix: out × all the rest; None for one dimension.

    >>> as_matrix((64, 3, 7, 7)), as_matrix((10,))
    ((64, 147), None)
    """
    return None if len(shape) < 2 else (shape[0], int(torch.Size(shape[1:]).numel()))


def power_sgd_bytes(shapes: Iterable[Sequence[int]], rank: int) -> int:
    """Bytes of all P and Q and of the gradients that are no matrices, in fp32.

    A matrix with fewer rows or columns than `rank` would not get smaller; it counts as if it were compressed.

    >>> power_sgd_bytes([(100, 50), (100,)], rank=2)
    1600
    """
    matrices = [(as_matrix(shape), torch.Size(shape).numel()) for shape in shapes]
    return 4 * sum(rank * sum(matrix) if matrix else length for matrix, length in matrices)


def gradients_in(row: torch.Tensor, parameters: Iterable[torch.nn.Parameter]) -> list[torch.Tensor]:
    """The gradients that lie in a row's memory, in its order: views, so what is written there is a gradient's."""
    begin, end = row.data_ptr(), row.data_ptr() + row.nbytes
    inside = [p.grad for p in parameters if p.grad is not None and begin <= p.grad.data_ptr() < end]
    return sorted(inside, key=torch.Tensor.data_ptr)


class PowerSGD:
    """An `all_reduce` for `DataParallel` that sends rank-r factors of every matrix, with error feedback.

    Args:
        parameters: those of the module that is wrapped, to know the shapes of the gradients in a bucket.
        rank: r. Matrices that would not get smaller travel as they are, as all gradients of one dimension do.
        all_reduce: how P, Q and the rest are summed.

    Source: T. Vogels et al., "PowerSGD: practical low-rank gradient compression for distributed optimization", NeurIPS
    2019, algorithms 1 and 2.
    """

    def __init__(
        self,
        parameters: Iterable[torch.nn.Parameter],
        rank: int,
        *,
        seed: int = 0,
        all_reduce: Callable[..., None] = ring_all_reduce,
    ) -> None:
        if rank < 1:
            raise ValueError(f"rank must be at least 1, got {rank}")
        self.parameters, self.rank, self.all_reduce = list(parameters), rank, all_reduce
        self.generator = torch.Generator().manual_seed(seed)  # the same first Q on every rank
        self.factors: dict[int, torch.Tensor] = {}
        self.residuals: dict[int, torch.Tensor] = {}

    def __call__(self, comm: Communicator, row: torch.Tensor) -> None:
        """Leave in the row the sum of all ranks' rows, its matrices approximated."""
        gradients = gradients_in(row, self.parameters)
        matrices = [gradient.view(len(gradient), -1) for gradient in gradients if self._shrinks(gradient.shape)]
        others = [gradient for gradient in gradients if not self._shrinks(gradient.shape)]
        self._sum_approximately(comm, matrices, others)

    def _shrinks(self, shape: Sequence[int]) -> bool:
        matrix = as_matrix(shape)
        return matrix is not None and self.rank * sum(matrix) < matrix[0] * matrix[1]

    def _sum_approximately(self, comm: Communicator, matrices: list[torch.Tensor], others: list[torch.Tensor]) -> None:
        keys = [matrix.data_ptr() for matrix in matrices]
        for m, key in zip(matrices, keys, strict=True):
            m += self.residuals.get(key, 0.0)
        ps = [m @ self._factor(key, m.shape[1]) for m, key in zip(matrices, keys, strict=True)]
        self._sum(comm, [*ps, *others])
        ps = [torch.linalg.qr(p).Q for p in ps]
        qs = [m.T @ p for m, p in zip(matrices, ps, strict=True)]
        for key, m, p, q in zip(keys, matrices, ps, qs, strict=True):
            self.residuals[key] = torch.addmm(m, p, q.T, alpha=-1)  # m - p @ q.T
        self._sum(comm, qs)
        for key, m, p, q in zip(keys, matrices, ps, qs, strict=True):
            self.factors[key] = q
            torch.mm(p, q.T, out=m)

    def _factor(self, key: int, columns: int) -> torch.Tensor:
        if key not in self.factors:
            self.factors[key] = torch.randn(columns, self.rank, generator=self.generator)
        return self.factors[key]

    def _sum(self, comm: Communicator, tensors: list[torch.Tensor]) -> None:
        """Sum each tensor over the ranks, all in one message."""
        if not tensors:
            return
        row = torch.cat([tensor.reshape(-1) for tensor in tensors])
        self.all_reduce(comm, row)
        for tensor, part in zip(tensors, row.split([tensor.numel() for tensor in tensors]), strict=True):
            tensor.copy_(part.view_as(tensor))
