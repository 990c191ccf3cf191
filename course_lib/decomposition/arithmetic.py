"""Arithmetic on tensor trains, without the tensors: ranks add up, multiply, and are rounded down again.

The numbers of a sum's core stand beside each other, those of an elementwise product are all products of two:

    (A + B)[i] = ( A[i]   0   )        (A ∘ B)[i] = A[i] ⊗ B[i]
                 (  0    B[i] )
"""

from __future__ import annotations

from math import isfinite

import torch

from course_lib.decomposition.svd import check_limits, truncated_svd
from course_lib.decomposition.tensor_train import TensorTrain, error_of_a_cut
from course_lib.flops import qr_flops, svd_flops


def tt_add(a: TensorTrain, b: TensorTrain) -> TensorTrain:
    """A + B: ranks add up. Nothing is calculated, numbers are placed side by side.

    >>> ones = TensorTrain((torch.ones(1, 2, 1), torch.ones(1, 3, 1)))
    >>> tt_add(ones, ones).full().tolist(), tt_add(ones, ones).ranks
    ([[2.0, 2.0, 2.0], [2.0, 2.0, 2.0]], (1, 2, 1))
    """
    _check_alike(a, b)
    last = len(a.cores) - 1
    cores = []
    for k, (left, right) in enumerate(zip(a.cores, b.cores, strict=True)):
        if last == 0:
            cores.append(left + right)
        elif k == 0:
            cores.append(torch.cat([left, right], 2))
        elif k == last:
            cores.append(torch.cat([left, right], 0))
        else:
            upper = torch.cat([left, left.new_zeros(*left.shape[:2], right.shape[2])], 2)
            lower = torch.cat([right.new_zeros(*right.shape[:2], left.shape[2]), right], 2)
            cores.append(torch.cat([upper, lower], 0))
    return TensorTrain(tuple(cores))


def tt_scale(a: TensorTrain, factor: float) -> TensorTrain:
    """factor · A: one core is multiplied."""
    return TensorTrain((factor * a.cores[0], *a.cores[1:]))


def tt_multiply(a: TensorTrain, b: TensorTrain) -> TensorTrain:
    """A ∘ B, element by element: ranks multiply."""
    _check_alike(a, b)
    cores = []
    for left, right in zip(a.cores, b.cores, strict=True):
        pairs = left[:, None, :, :, None] * right[None, :, :, None, :]  # [r, s, n, r', s']
        cores.append(pairs.reshape(-1, left.shape[1], left.shape[2] * right.shape[2]))
    return TensorTrain(tuple(cores))


def tt_multiply_flops(a: TensorTrain, b: TensorTrain) -> int:
    """One multiplication for each number of the product's cores: n · r² · s², mode by mode."""
    return sum(n * a.ranks[k] * b.ranks[k] * a.ranks[k + 1] * b.ranks[k + 1] for k, n in enumerate(a.shape))


def tt_inner(a: TensorTrain, b: TensorTrain) -> torch.Tensor:
    """⟨A, B⟩, the sum of A ∘ B, mode by mode: what is kept between two modes is a matrix of r × s.

    Its square root is no good norm of a small difference: A² − 2AB + B² cancels, and half of the digits are lost.
    `tt_norm` loses none.
    """
    _check_alike(a, b)
    sums = a.cores[0].new_ones(1, 1)  # [s, r]
    for left, right in zip(a.cores, b.cores, strict=True):
        half = (sums @ left.flatten(1)).reshape(-1, left.shape[2])  # [s n, r']
        sums = right.flatten(0, 1).T @ half  # [s', r']
    return sums.reshape(())


def tt_inner_flops(a: TensorTrain, b: TensorTrain) -> int:
    """Two matrix products a mode: 2 · n · s · r' · (r + s')."""
    total = 0
    for k, n in enumerate(a.shape):
        (r, r_next), (s, s_next) = a.ranks[k : k + 2], b.ranks[k : k + 2]
        total += 2 * n * s * r_next * (r + s_next)
    return total


def orthogonalize(a: TensorTrain) -> TensorTrain:
    """The same tensor, with orthonormal rows in every core but the first; its norm is then that of the first.

    From right to left: each core as a matrix [r, n r'] is L · Q; Q stays, L goes into the neighbor at the left.
    """
    cores = list(a.cores)
    for k in range(len(cores) - 1, 0, -1):
        q, r = torch.linalg.qr(cores[k].flatten(1).T)
        cores[k] = q.T.reshape(-1, *cores[k].shape[1:])
        cores[k - 1] = (cores[k - 1].flatten(0, 1) @ r.T).reshape(*cores[k - 1].shape[:2], -1)
    return TensorTrain(tuple(cores))


def tt_norm(a: TensorTrain) -> float:
    """‖A‖ in the Frobenius norm, to the last digits: also for a difference of two trains."""
    return float(torch.linalg.vector_norm(orthogonalize(a).cores[0]))


def tt_round(a: TensorTrain, relative_error: float = 0.0, largest_rank: int | None = None) -> TensorTrain:
    """A train B of smaller ranks with ‖A − B‖ ≤ relative_error · ‖A‖: TT-SVD of a tensor that is a train already.

    Once the cores to the right are orthonormal, the singular values of one small core are those of the whole unfolding,
    so it may be cut off like it. (Without orthonormal neighbors they say nothing.)

    Raises:
        ValueError: if relative_error is negative, largest_rank less than 1, or the norm of the train not finite.

    Source: I. Oseledets, 2011, algorithm 2.
    """
    check_limits(relative_error, largest_rank)
    cores = list(orthogonalize(a).cores)
    norm = float(torch.linalg.vector_norm(cores[0]))
    if not isfinite(norm):
        raise ValueError(f"the norm of a train must be finite to round it, got {norm}")
    error = error_of_a_cut(norm, relative_error, len(cores), cores[0].dtype)
    for k in range(len(cores) - 1):
        svd = truncated_svd(cores[k].flatten(0, 1), error, largest_rank)
        cores[k + 1] = (svd.s[:, None] * svd.vh @ cores[k + 1].flatten(1)).reshape(-1, *cores[k + 1].shape[1:])
        cores[k] = svd.u.reshape(*cores[k].shape[:2], -1)
    return TensorTrain(tuple(cores))


def tt_round_flops(a: TensorTrain, rounded: TensorTrain) -> int:
    """What `tt_round` takes on the way from `a` to `rounded`: O(d · n · r³)."""
    modes = a.shape
    ranks = list(a.ranks)
    total = 0
    for k in range(len(modes) - 1, 0, -1):
        rows, columns = modes[k] * ranks[k + 1], ranks[k]
        ranks[k] = min(rows, columns)
        total += qr_flops(rows, columns) + 2 * ranks[k - 1] * modes[k - 1] * columns * ranks[k]
    for k in range(len(modes) - 1):
        kept, old = rounded.ranks[k + 1], ranks[k + 1]
        total += svd_flops(rounded.ranks[k] * modes[k], old) + kept * old
        total += 2 * kept * old * modes[k + 1] * ranks[k + 2]
    return total


def _check_alike(a: TensorTrain, b: TensorTrain) -> None:
    if a.shape != b.shape:
        raise ValueError(f"both trains must have the same modes, got {a.shape} and {b.shape}")
