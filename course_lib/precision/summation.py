"""The same addends in another order, each sum rounded: round a ring, up a tree, or at one owner in fp32.

    ring     ((x₁ + x₂) + x₃) + x₄       the first addend meets p - 1 roundings
    tree     (x₁ + x₂) + (x₃ + x₄)       each addend meets at most ⌈log₂ p⌉
    owner     x₁ + x₂ + x₃ + x₄ in fp32  each addend meets one

An addend that meets d roundings, each of which misses by a part of at most u, ends up wrong by at most a part of about
d u: so |error| ≤ d u Σ|x|. u is half of the spacing above 1: 2⁻¹¹ for fp16, 2⁻⁸ for bf16.

Sources: N. J. Higham, "The accuracy of floating point summation", SIAM J. Sci. Comput. 14(4), 1993, and "Accuracy and
Stability of Numerical Algorithms", 2nd edition, 2002, chapter 4; S. M. Rump, "Error estimation of floating-point
summation and dot product", BIT 52, 2012: one after the other, the bound (p - 1) u Σ|x| holds as it stands,
for any p and in any order; else terms of u² are left out.
"""

from __future__ import annotations

import torch

from course_lib.checks import at_least

__all__ = ["roundings_met", "sum_at_owner", "sum_error", "sum_round_ring", "sum_up_tree", "unit_roundoff"]


def unit_roundoff(dtype: torch.dtype) -> float:
    """How large a part of a number rounding can miss by.

    >>> unit_roundoff(torch.float16) == 2**-11, unit_roundoff(torch.bfloat16) == 2**-8
    (True, True)
    """
    return torch.finfo(dtype).eps / 2


def sum_round_ring(addends: torch.Tensor) -> torch.Tensor:  # [ranks, elements] -> [elements]
    """What `ring_all_reduce` leaves, to the last bit: chunk c's sum begins at rank c + 1 and grows from rank to rank.

    >>> sum_round_ring(torch.ones(512, 1, dtype=torch.bfloat16)).item()  # 256 + 1 is 256
    256.0
    """
    ranks, elements = addends.shape
    at_least(1, ranks=ranks)
    lengths = [len(chunk) for chunk in torch.arange(elements).tensor_split(ranks)]
    chunk = torch.arange(ranks).repeat_interleave(torch.tensor(lengths))
    column = torch.arange(elements)
    total = addends[(chunk + 1) % ranks, column]
    for hop in range(2, ranks + 1):
        total = total + addends[(chunk + hop) % ranks, column]
    return total


def sum_up_tree(addends: torch.Tensor) -> torch.Tensor:  # [ranks, elements] -> [elements]
    """What `tree_all_reduce` leaves, to the last bit: neighbors add up, then neighbors' sums, and so on.

    >>> sum_up_tree(torch.ones(512, 1, dtype=torch.bfloat16)).item()
    512.0
    """
    at_least(1, ranks=len(addends))
    totals = list(addends)
    while len(totals) > 1:
        pairs = zip(totals[::2], totals[1::2], strict=False)
        totals = [left + right for left, right in pairs] + totals[len(totals) - len(totals) % 2 :]
    return totals[0]


def sum_at_owner(addends: torch.Tensor) -> torch.Tensor:  # [ranks, elements] -> [elements]
    """The sum in fp32, rounded once to the addends' format: what `all_reduce_at_owners` leaves."""
    return addends.float().sum(0).to(addends.dtype)


def roundings_met(order: str, ranks: int) -> int:
    """How many roundings an addend meets at most when p ranks' numbers are added.

    Raises:
        ValueError: unless the order is "ring", "tree" or "owner", and there is a rank.

    >>> roundings_met("ring", 9), roundings_met("tree", 9), roundings_met("owner", 9)
    (8, 4, 1)
    """
    if order not in ("ring", "tree", "owner"):
        raise ValueError(f'order must be "ring", "tree" or "owner", got {order!r}')
    at_least(1, ranks=ranks)
    if ranks == 1:
        return 0
    return {"ring": ranks - 1, "tree": (ranks - 1).bit_length(), "owner": 1}[order]


def sum_error(total: torch.Tensor, addends: torch.Tensor) -> torch.Tensor:  # [elements], [ranks, elements] -> float64
    """How much each sum misses, in units of u Σ|x|: the bound is then the roundings met. 0 where all addends are.

    The true sum is taken in fp64, whose own u is 2⁻⁵³.
    """
    exact, magnitude = addends.double().sum(0), addends.double().abs().sum(0)
    unit = unit_roundoff(addends.dtype) * magnitude
    return torch.where(magnitude > 0, (total.double() - exact).abs() / unit, 0.0)
