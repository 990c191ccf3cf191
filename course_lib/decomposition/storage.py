"""Numbers that a tensor train stores."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["tt_numbers"]


def tt_numbers(shape: Sequence[int], ranks: Sequence[int]) -> int:
    """Numbers of a tensor train: Σ r_{k-1} · n_k · r_k, with all d + 1 ranks given; below d·n·r² where all are alike.

    >>> tt_numbers([10] * 30, [1, *[2] * 29, 1])
    1160
    """
    return sum(left * n * right for left, n, right in zip(ranks[:-1], shape, ranks[1:], strict=True))
