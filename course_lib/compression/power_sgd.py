"""PowerSGD: a gradient's matrix as a product of two thin ones, which can be added on the way.

M [n, m] ≈ P Qᵀ, P [n, r], Q [m, r]. In each step P = M Q, summed over the ranks and made orthogonal, then Q = Mᵀ P,
summed too: one round of the power method, which starts from the Q of the step before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch

from course_lib.checks import at_least
from course_lib.collectives import ring_all_reduce
from course_lib.comm import Communicator
from course_lib.compression.rows import KeepsRows
from course_lib.data_parallel.averaging import number_of


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
    return [gradient for _, gradient in _numbered_gradients_in(row, parameters)]


def _numbered_gradients_in(
    row: torch.Tensor, parameters: Iterable[torch.nn.Parameter]
) -> list[tuple[int, torch.Tensor]]:
    """The same, each with its parameter's place among the parameters."""
    begin, end = row.data_ptr(), row.data_ptr() + row.nbytes
    gradients = [(number, parameter.grad) for number, parameter in enumerate(parameters)]
    inside = [(n, g) for n, g in gradients if g is not None and g.numel() and begin <= g.data_ptr() < end]
    return sorted(inside, key=lambda each: each[1].data_ptr())


class PowerSGD(KeepsRows):
    """An `all_reduce` for `DataParallel` that sends rank-r factors of every matrix, with error feedback.

    Args:
        parameters: those of the module that is wrapped, to know the shapes of the gradients in a bucket.
        rank: r. Matrices that would not get smaller travel as they are, as all gradients of one dimension do.
        all_reduce: how P, Q and the rest are summed.

    Attributes:
        residuals, factors: what was left out of each matrix, and its last Q, by the parameter's place among them.

    Source: T. Vogels et al., "PowerSGD: practical low-rank gradient compression for distributed optimization", NeurIPS
    2019, algorithms 1 and 2.
    """

    tables = ("residuals", "factors")

    def __init__(
        self,
        parameters: Iterable[torch.nn.Parameter],
        rank: int,
        *,
        seed: int = 0,
        all_reduce: Callable[..., None] = ring_all_reduce,
    ) -> None:
        at_least(1, rank=rank)
        super().__init__()
        self.parameters = list(parameters)
        self.rank = rank
        self.all_reduce = all_reduce
        self.generator = torch.Generator().manual_seed(seed)  # the same first Q on every rank
        self.factors: dict[int, torch.Tensor] = {}

    def __call__(self, comm: Communicator, row: torch.Tensor) -> None:
        """Leave in the row the sum of all ranks' rows, its matrices approximated.

        Raises:
            ValueError: if not all of the row is gradients of the parameters: the rest would not be summed. If they are
                of 16 bits, in which a processor makes no factors orthogonal.
        """
        if row.dtype not in (torch.float32, torch.float64):
            raise ValueError(f"a row to compress must be of float32 or float64, got {row.dtype}")
        gradients = _numbered_gradients_in(row, self.parameters)
        found = sum(gradient.numel() for _, gradient in gradients)
        if found != row.numel():
            raise ValueError(
                f"a row must hold gradients of the given parameters alone, got {row.numel()} numbers, {found} of theirs"
            )
        matrices = {n: gradient.view(len(gradient), -1) for n, gradient in gradients if self._shrinks(gradient.shape)}
        new = self._sum_approximately(comm, matrices, [gradient for n, gradient in gradients if n not in matrices])
        self.keep_if_finite(row, ("row", number_of(row)))  # also one without matrices may have overflowed
        for number, (residual, factor) in new.items():
            self.keep_if_finite(row, number, residuals=residual, factors=factor)

    def _shrinks(self, shape: Sequence[int]) -> bool:
        matrix = as_matrix(shape)
        return matrix is not None and self.rank * sum(matrix) < matrix[0] * matrix[1]

    def _sum_approximately(
        self, comm: Communicator, matrices: dict[int, torch.Tensor], others: list[Any]
    ) -> dict[int, tuple[torch.Tensor, torch.Tensor]]:
        """Residual and factor of each matrix for the next step."""
        for number, m in matrices.items():
            m += self.kept(self.residuals, number, m)
        ps = [m @ self._factor(number, m) for number, m in matrices.items()]
        self._sum(comm, [*ps, *others])
        ps = [torch.linalg.qr(p).Q for p in ps]
        qs = [m.T @ p for m, p in zip(matrices.values(), ps, strict=True)]
        left_out = [torch.addmm(m, p, q.T, alpha=-1) for m, p, q in zip(matrices.values(), ps, qs, strict=True)]
        self._sum(comm, qs)
        for m, p, q in zip(matrices.values(), ps, qs, strict=True):
            torch.mm(p, q.T, out=m)
        return dict(zip(matrices, zip(left_out, qs, strict=True), strict=True))

    def _factor(self, number: int, matrix: torch.Tensor) -> torch.Tensor:
        if number not in self.factors:
            drawn = torch.randn(matrix.shape[1], self.rank, generator=self.generator)
            self.factors[number] = drawn.to(matrix)
        return self.factors[number]

    def _generators(self) -> dict[str, torch.Generator]:
        return {"draws": self.generator}

    def _sum(self, comm: Communicator, tensors: list[torch.Tensor]) -> None:
        """Sum each tensor over the ranks, all in one message."""
        if not tensors:
            return
        row = torch.cat([tensor.reshape(-1) for tensor in tensors])
        self.all_reduce(comm, row)
        for tensor, part in zip(tensors, row.split([tensor.numel() for tensor in tensors]), strict=True):
            tensor.copy_(part.view_as(tensor))
