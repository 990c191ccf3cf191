"""Tucker's decomposition: a small core tensor, and for each mode a matrix that stretches it to its full length."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, prod, sqrt
from typing import NamedTuple

import torch

from course_lib.decomposition.svd import check_limits, check_tensor, left_factor


class Tucker(NamedTuple):
    """A[i, j, …] = Σ core[α, β, …] · U₁[i, α] · U₂[j, β] · …, summed over α, β, …"""

    core: torch.Tensor  # [r_1, ..., r_d]
    factors: tuple[torch.Tensor, ...]  # [n_1, r_1], ..., [n_d, r_d], orthonormal columns

    @property
    def ranks(self) -> tuple[int, ...]:
        """r_1 to r_d."""
        return tuple(self.core.shape)

    @property
    def numbers(self) -> int:
        """Numbers stored, those of the core and of the factors."""
        return self.core.numel() + sum(factor.numel() for factor in self.factors)

    def full(self) -> torch.Tensor:  # [n_1, ..., n_d]
        """The whole tensor: each factor stretches its mode of the core."""
        tensor = self.core
        for mode, factor in enumerate(self.factors):
            tensor = mode_product(tensor, factor, mode)
        return tensor


def mode_unfolding(tensor: torch.Tensor, mode: int) -> torch.Tensor:
    """The tensor as a matrix: one mode down, all others together across.

    >>> mode_unfolding(torch.arange(6).reshape(1, 2, 3), 1)
    tensor([[0, 1, 2],
            [3, 4, 5]])
    """
    return tensor.movedim(mode, 0).reshape(tensor.shape[mode], -1)


def mode_product(tensor: torch.Tensor, matrix: torch.Tensor, mode: int) -> torch.Tensor:
    """The matrix times every column along one mode: [..., n, ...] and [m, n] give [..., m, ...]."""
    return torch.tensordot(matrix, tensor, dims=([1], [mode])).movedim(0, mode)


def tucker_numbers(shape: Sequence[int], ranks: Sequence[int]) -> int:
    """Numbers stored: r_1 · … · r_d of the core and Σ n_k · r_k of the factors; r^d + d·n·r where all are alike.

    >>> tucker_numbers([10] * 3, [2] * 3), tucker_numbers([10] * 30, [2] * 30)
    (68, 1073742424)
    """
    return prod(ranks) + sum(n * r for n, r in zip(shape, ranks, strict=True))


def hosvd(tensor: torch.Tensor, relative_error: float = 0.0, largest_rank: int | None = None) -> Tucker:
    """The Tucker decomposition B of a tensor A with ‖A − B‖ ≤ relative_error · ‖A‖ in the Frobenius norm.

    One SVD for each mode, of the tensor itself unfolded along it; the core is what the tensor is in the bases found.
    Each may leave out ε = relative_error · ‖A‖ / √d: the error is at most √(Σ ε_k²), and not below the largest ε_k.
    With `largest_rank` no rank exceeds it, and the error is what it is.

    Raises:
        ValueError: as `tt_svd` does; and if the norm of the tensor is larger than its dtype's largest number, for the
            core holds it.

    Source: L. De Lathauwer, B. De Moor and J. Vandewalle, "A multilinear singular value decomposition", SIAM Journal on
    Matrix Analysis and Applications 21(4), 2000, property 10.

    >>> hosvd(torch.ones(3, 4, 5)).ranks, hosvd(torch.arange(60.0).reshape(3, 4, 5)).ranks
    ((1, 1, 1), (2, 2, 2))
    """
    check_tensor(tensor)
    check_limits(relative_error, largest_rank)
    norm = float(torch.linalg.vector_norm(tensor))
    if norm == inf:
        raise ValueError(f"the norm of a tensor must be a number of {tensor.dtype}, got one that is too large")
    error = relative_error * norm / sqrt(tensor.ndim)
    unfoldings = [mode_unfolding(tensor, mode) for mode in range(tensor.ndim)]
    factors = tuple(left_factor(unfolding, error, largest_rank) for unfolding in unfoldings)
    core = tensor
    for mode, factor in enumerate(factors):
        core = mode_product(core, factor.T, mode)
    return Tucker(core, factors)


def mode_errors(tensor: torch.Tensor, ranks: Sequence[int]) -> list[float]:
    """ε_1 to ε_d: what each mode leaves out by itself when only its r_k largest singular values are kept."""
    values = [torch.linalg.svdvals(mode_unfolding(tensor, mode)) for mode in range(tensor.ndim)]
    return [float(torch.linalg.vector_norm(s[rank:])) for s, rank in zip(values, ranks, strict=True)]
