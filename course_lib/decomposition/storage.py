"""Numbers that a tensor takes whole, as a truncated SVD, as Tucker and as a tensor train."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

import torch

from course_lib.decomposition.svd import SVD, truncated_svd
from course_lib.decomposition.tensor_train import tt_svd
from course_lib.decomposition.tucker import hosvd, tucker_numbers

__all__ = ["Storage", "best_svd", "storage_at_rank", "storage_of", "tt_numbers"]


class Storage(NamedTuple):
    """Numbers stored in each format."""

    full: int
    svd: int
    tucker: int
    tensor_train: int


def tt_numbers(shape: Sequence[int], ranks: Sequence[int]) -> int:
    """Numbers of a tensor train: Σ r_{k-1} · n_k · r_k, with all d + 1 ranks given; below d·n·r² where all are alike.

    >>> tt_numbers([10] * 30, [1, *[2] * 29, 1])
    1160
    """
    return sum(left * n * right for left, n, right in zip(ranks[:-1], shape, ranks[1:], strict=True))


def best_svd(tensor: torch.Tensor, relative_error: float) -> SVD:
    """The truncated SVD of the unfolding that needs the fewest numbers, of all that put the first k modes down."""
    error = relative_error * float(torch.linalg.vector_norm(tensor))
    unfoldings = [tensor.reshape(prod(tensor.shape[:k]), -1) for k in range(1, tensor.ndim)]
    return min((truncated_svd(unfolding, error) for unfolding in unfoldings), key=lambda svd: svd.numbers)


def storage_of(tensor: torch.Tensor, relative_error: float) -> Storage:
    """What each format needs so that its relative error is at most `relative_error`.

    Raises:
        ValueError: if the tensor has fewer than two modes: there is nothing to decompose; as `tt_svd` and `hosvd` do.

    >>> storage_of(torch.ones(4, 4, 4), relative_error=0.0)
    Storage(full=64, svd=20, tucker=13, tensor_train=12)
    """
    if tensor.ndim < 2:
        raise ValueError(f"a tensor to decompose has two modes or more, got shape {tuple(tensor.shape)}")
    train, tucker = tt_svd(tensor, relative_error), hosvd(tensor, relative_error)
    return Storage(tensor.numel(), best_svd(tensor, relative_error).numbers, tucker.numbers, train.numbers)


def storage_at_rank(shape: Sequence[int], rank: int) -> Storage:
    """The same for a tensor that nobody can hold, of which it is known that every unfolding has this rank.

    (No unfolding's rank exceeds the number of its rows or columns.)

    Raises:
        ValueError: if there are fewer than two modes, or a mode or the rank is less than 1.

    >>> storage_at_rank([10] * 20, rank=2)
    Storage(full=100000000000000000000, svd=40000000000, tucker=1048976, tensor_train=760)
    """
    if len(shape) < 2 or min(*shape, rank) < 1:
        raise ValueError(f"two modes or more and a rank, of 1 at least, are needed, got shape {shape} and rank {rank}")
    whole = prod(shape)
    rows = [prod(shape[:k]) for k in range(len(shape) + 1)]
    ranks = [min(rank, m, whole // m) for m in rows]
    svd = min(r * (m + whole // m) for r, m in zip(ranks[1:-1], rows[1:-1], strict=True))
    tucker = tucker_numbers(shape, [min(rank, n, whole // n) for n in shape])
    return Storage(whole, svd, tucker, tt_numbers(shape, ranks))
