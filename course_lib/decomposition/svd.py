"""The singular value decomposition, cut off where a chosen error allows it: the model of all that follows."""

from __future__ import annotations

from typing import NamedTuple

import torch

from course_lib.flops import svd_flops, triangle_flops


class SVD(NamedTuple):
    """The largest singular values of a matrix and their vectors: the matrix is about u · diag(s) · vh."""

    u: torch.Tensor  # [m, r], orthonormal columns
    s: torch.Tensor  # [r], falling
    vh: torch.Tensor  # [r, n], orthonormal rows

    @property
    def rank(self) -> int:
        return len(self.s)

    @property
    def numbers(self) -> int:
        """Numbers to store: s multiplies into one of the two factors, so r(m + n)."""
        return self.rank * (len(self.u) + self.vh.shape[1])

    def full(self) -> torch.Tensor:  # [m, n]
        """The matrix that is kept."""
        return self.u * self.s @ self.vh


def kept_rank(singular_values: torch.Tensor, error: float) -> int:
    """How many singular values must be kept so that the norm of the others is at most `error`; 1 at least.

    What is cut off has the norm sqrt(sum of squares) of its singular values, and no matrix of that rank is nearer.

    Source: C. Eckart and G. Young, Psychometrika 1(3), 1936.

    >>> kept_rank(torch.tensor([5.0, 4.0, 3.0, 0.0]), error=5.0), kept_rank(torch.tensor([5.0, 4.0, 3.0]), error=4.9)
    (1, 2)
    """
    left_out = singular_values.double().flip(0).square().cumsum(0).flip(0).sqrt()  # the norm of each one and all behind
    return max(1, int((left_out > error).sum()))


def truncated_svd(matrix: torch.Tensor, error: float = 0.0, largest_rank: int | None = None) -> SVD:
    """The SVD of the smallest rank whose Frobenius distance from `matrix` is at most `error`.

    Singular values below the rounding of the dtype, √min(m, n) · eps · ‖matrix‖ together, are noise and left out also
    where `error` is 0. With `largest_rank` no more than that many are kept, and the error may be larger.

    Raises:
        ValueError: if `error` is negative or no number, or `largest_rank` less than 1, or as `check_tensor` does.

    Cost: O(m · n · min(m, n)) flops.

    >>> diagonal = truncated_svd(torch.diag(torch.tensor([4.0, 3.0, 2.0, 1.0])), error=2.3)  # √(2² + 1²) = 2.24
    >>> diagonal.rank, diagonal.numbers
    (2, 16)
    """
    check_limits(error, largest_rank)
    check_tensor(matrix)
    u, s, vh = torch.linalg.svd(matrix, full_matrices=False)
    rounding = len(s) ** 0.5 * torch.finfo(s.dtype).eps * float(torch.linalg.vector_norm(s))
    rank = kept_rank(s, max(error, rounding))
    rank = rank if largest_rank is None else min(rank, largest_rank)
    return SVD(u[:, :rank].contiguous(), s[:rank], vh[:rank])  # a view would keep all of u in memory


def left_factor(matrix: torch.Tensor, error: float = 0.0, largest_rank: int | None = None) -> torch.Tensor:  # [m, r]
    """The u of `truncated_svd`, for those who need no more; four times as fast where the matrix is wide.

    A wide matrix is a small triangle times orthonormal rows, which have no part in u: QR finds the triangle.

    >>> wide = torch.randn(3, 50, dtype=torch.float64)
    >>> torch.allclose(left_factor(wide).abs(), truncated_svd(wide).u.abs())
    True
    """
    check_tensor(matrix)
    if _is_wide(*matrix.shape):
        matrix = torch.linalg.qr(matrix.T, mode="r").R.T  # [m, m]
    return truncated_svd(matrix, error, largest_rank).u


def left_factor_flops(rows: int, columns: int) -> int:
    """What `left_factor` takes: an SVD, of a triangle that QR has found where the matrix is wide."""
    if _is_wide(rows, columns):
        return triangle_flops(rows, columns) + svd_flops(rows, rows)
    return svd_flops(rows, columns)


def check_tensor(tensor: torch.Tensor) -> None:
    """Return if a tensor can be decomposed.

    Raises:
        ValueError: if it has no mode or no element, is not of float32 or float64, or holds an infinity or nan.
    """
    if not tensor.numel() or not tensor.ndim:
        raise ValueError(f"a tensor must have one mode or more and no empty one, got shape {tuple(tensor.shape)}")
    if tensor.dtype not in (torch.float32, torch.float64):
        raise ValueError(f"a tensor must be of float32 or float64, got {tensor.dtype}")
    if not torch.isfinite(torch.stack(tensor.detach().aminmax())).all():  # nan wins both, and a sum could overflow
        raise ValueError("a tensor must hold finite numbers, got an infinity or nan")


def check_limits(error: float, largest_rank: int | None) -> None:
    """Return if an error may be allowed and a rank be the largest.

    Raises:
        ValueError: if the error is negative or no number, or the rank less than 1.
    """
    if not error >= 0:
        raise ValueError(f"the error must be 0 or more, got {error}")
    if largest_rank is not None and largest_rank < 1:
        raise ValueError(f"largest_rank must be at least 1, or None for no limit, got {largest_rank}")


def _is_wide(rows: int, columns: int) -> bool:
    return columns >= 2 * rows
