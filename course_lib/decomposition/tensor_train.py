"""The tensor train: a tensor of d modes as a chain of d small cores, and how to find it.

    A[i₁, i₂, …, i_d]  =  G₁[i₁] · G₂[i₂] · … · G_d[i_d]

G_k[i] is a matrix of r_{k-1} × r_k, one for each value i of mode k; the first is a row, the last a column, so that
their product is a number. A core holds the matrices of one mode: r_{k-1} × n_k × r_k.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from math import prod
from operator import mul

import torch

from course_lib.decomposition.svd import check_limits, check_tensor, left_factor, left_factor_flops, truncated_svd


@dataclass(frozen=True, eq=False, repr=False)
class TensorTrain:
    """Cores of shape [r_{k-1}, n_k, r_k]; the first and the last rank are 1.

    Raises:
        ValueError: if there is no core, or if two neighbors do not have the rank between them in common.

    >>> TensorTrain((torch.ones(1, 2, 3), torch.ones(3, 5, 1)))
    TensorTrain(2 × 5, ranks 1-3-1, 21 numbers)
    """

    cores: tuple[torch.Tensor, ...]

    def __post_init__(self) -> None:
        shapes = [tuple(core.shape) for core in self.cores]
        if not shapes or any(len(shape) != 3 for shape in shapes):
            raise ValueError(f"a tensor train has one core or more, each [r, n, r'], got shapes {shapes}")
        ends = shapes[0][0], shapes[-1][-1]
        if ends != (1, 1) or any(left[-1] != right[0] for left, right in pairwise(shapes)):
            raise ValueError(f"neighbors must share a rank, and the first and last rank be 1, got shapes {shapes}")

    @property
    def shape(self) -> tuple[int, ...]:
        """The modes of the tensor: n_1, …, n_d."""
        return tuple(core.shape[1] for core in self.cores)

    @property
    def ranks(self) -> tuple[int, ...]:
        """r_0 to r_d, both ends included: d + 1 numbers."""
        return (1, *(core.shape[2] for core in self.cores))

    @property
    def numbers(self) -> int:
        """Numbers stored: the sum of r_{k-1} · n_k · r_k."""
        return sum(core.numel() for core in self.cores)

    @property
    def compression(self) -> float:
        """Numbers of the whole tensor for one of the train's."""
        return prod(self.shape) / self.numbers

    def element(self, index: Sequence[int]) -> torch.Tensor:
        """One element, without its neighbors: a row times d - 1 small matrices."""
        row = self.cores[0][:, index[0]]  # [1, r]
        for core, place in zip(self.cores[1:], index[1:], strict=True):
            row = row @ core[:, place]
        return row.reshape(())

    def full(self) -> torch.Tensor:  # [n_1, ..., n_d]
        """The whole tensor."""
        rows = self.cores[0].reshape(-1, self.ranks[1])  # [all indices so far, r]
        for core in self.cores[1:]:
            rows = (rows @ core.flatten(1)).reshape(-1, core.shape[2])
        return rows.reshape(self.shape)

    def __repr__(self) -> str:
        return f"TensorTrain({shown(self.shape, ' × ')}, ranks {shown(self.ranks, '-')}, {self.numbers:,} numbers)"


def shown(numbers: Sequence[int], between: str) -> str:
    """Numbers in a row, those in the middle left out where there are many.

    >>> shown([2, 3, 4], " × "), shown([1, *[2] * 29, 1], "-")
    ('2 × 3 × 4', '1-2-2-…-2-1')
    """
    words = list(map(str, numbers))
    return between.join(words if len(words) <= 10 else [*words[:3], "…", *words[-2:]])


def tt_svd(tensor: torch.Tensor, relative_error: float = 0.0, largest_rank: int | None = None) -> TensorTrain:
    """The tensor train B of a tensor A with ‖A − B‖ ≤ relative_error · ‖A‖ in the Frobenius norm.

    One SVD for each mode but the last. Each may leave out δ = relative_error · ‖A‖ / √(d − 1); what they leave out is
    orthogonal, so that squares add up. The law holds down to the rounding of the dtype; with relative_error = 0 the
    ranks are those of the tensor, as far as the dtype can tell. With `largest_rank` no rank exceeds it, and the error
    is what it is, at most √(d − 1) times that of the best train of these ranks. No gradient passes through.

    Raises:
        ValueError: if the tensor has no mode or no element, is not of float32 or float64, or holds an infinity or nan;
            if relative_error is negative, or largest_rank less than 1.

    Source: I. Oseledets, "Tensor-train decomposition", SIAM Journal on Scientific Computing 33(5), 2011, algorithm 1.

    >>> hilbert = 1 / (1.0 + sum(torch.meshgrid(*map(torch.arange, (4, 5, 6)), indexing="ij")))
    >>> tt_svd(hilbert, relative_error=1e-3)
    TensorTrain(4 × 5 × 6, ranks 1-3-3-1, 75 numbers)
    """
    check_tensor(tensor)
    check_limits(relative_error, largest_rank)
    norm, largest = float(torch.linalg.vector_norm(tensor)), float(max(map(abs, tensor.aminmax())))
    if largest and not _is_moderate(norm, tensor.dtype):  # squares overflow, or vanish
        train = tt_svd(tensor / largest, relative_error, largest_rank)
        return TensorTrain(tuple(largest ** (1 / tensor.ndim) * core for core in train.cores))
    error = error_of_a_cut(norm, relative_error, tensor.ndim, tensor.dtype)
    cores = []
    rest = tensor
    rank = 1
    for modes in tensor.shape[:-1]:
        matrix = rest.reshape(rank * modes, -1)
        u = left_factor(matrix, error, largest_rank)
        cores.append(u.reshape(rank, modes, -1))
        rest, rank = u.T @ matrix, u.shape[1]
    return TensorTrain((*cores, rest.reshape(rank, tensor.shape[-1], 1)))


def _is_moderate(norm: float, dtype: torch.dtype) -> bool:
    limits = torch.finfo(dtype)
    return limits.tiny**0.5 < norm < limits.max**0.5


def error_of_a_cut(norm: float, relative_error: float, modes: int, dtype: torch.dtype) -> float:
    """δ, what each of the modes - 1 cuts may leave out so that all together leave out relative_error · norm.

    Never less than the rounding of the dtype: what is below it is no rank.

    >>> error_of_a_cut(norm=30.0, relative_error=0.1, modes=10, dtype=torch.float64)
    1.0
    """
    share = max(relative_error, 4 * modes * torch.finfo(dtype).eps)
    return share * norm / max(1, modes - 1) ** 0.5


def tt_svd_flops(train: TensorTrain) -> int:
    """What `tt_svd` took for a train of these modes and ranks: the first SVD is by far the largest."""
    total, rest = 0, prod(train.shape)
    for k, n in enumerate(train.shape[:-1]):
        rest //= n
        rows = train.ranks[k] * n
        total += left_factor_flops(rows, rest) + 2 * train.ranks[k + 1] * rows * rest
    return total


def tt_element_flops(train: TensorTrain) -> int:
    """A row times the matrices of the other modes: 2 · Σ r · r'."""
    return sum(2 * a * b for a, b in pairwise(train.ranks[1:]))


def tt_full_flops(train: TensorTrain) -> int:
    """All indices so far, times the next core: the last product, 2 · r · n_1 · … · n_d, is the largest."""
    sizes = accumulate(train.shape, mul)
    return sum(2 * size * a * b for size, (a, b) in list(zip(sizes, pairwise(train.ranks), strict=True))[1:])


def tt_ranks(tensor: torch.Tensor, relative_error: float = 0.0) -> tuple[int, ...]:
    """The rank of each unfolding, both ends included: no train of this tensor at that accuracy has smaller ones.

    An unfolding is the tensor as a matrix, its first k modes as rows: the one place where a train of rank r_k is cut.

    >>> tt_ranks(torch.ones(3, 4, 5)), tt_ranks(torch.arange(60.0).reshape(3, 4, 5))
    ((1, 1, 1, 1), (1, 2, 2, 1))
    """
    check_tensor(tensor)
    check_limits(relative_error, None)
    error = relative_error * float(torch.linalg.vector_norm(tensor))
    unfoldings = [tensor.reshape(prod(tensor.shape[:k]), -1) for k in range(1, tensor.ndim)]
    return (1, *(truncated_svd(unfolding, error).rank for unfolding in unfoldings), 1)
