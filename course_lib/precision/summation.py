"""Sums in 16 bits: gradients on the wire at half the bytes, and the rounding error of each order of summation.

    fp32 ── round to 16 bits ─▶ all-reduce: 16-bit messages, 16-bit sums ─▶ fp32          `all_reduce_in`
    fp32 ── round to 16 bits ─▶ each chunk's owner adds in fp32, rounds once ─▶ fp32      `all_reduce_at_owners`

Both send 2n(p - 1)/p bytes for n bytes of 16-bit gradients. The first rounds a sum each time that it is passed on; the
second once. Divide by the ranks before, as `DataParallel` does, for a sum of p gradients leaves fp16's range p times
sooner than their mean.

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

from collections.abc import Callable

import torch

from course_lib.checks import at_least
from course_lib.collectives import all_gather, all_to_all, ring_all_reduce
from course_lib.comm import Communicator


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


def all_reduce_in(dtype: torch.dtype, all_reduce: Callable[..., None] = ring_all_reduce) -> Callable[..., None]:
    """An all-reduce of fp32 tensors whose messages and sums are in `dtype`; every rank gets the same bits.

    >>> half = all_reduce_in(torch.float16)  # model = DataParallel(comm, module, all_reduce=half)
    """

    def all_reduce_rounded(comm: Communicator, tensor: torch.Tensor) -> None:
        """Leave on every rank the sum of all ranks' tensors, rounded on its way."""
        rounded = _rounded(tensor, dtype)
        all_reduce(comm, rounded)
        tensor.copy_(rounded)

    return all_reduce_rounded


def all_reduce_at_owners(dtype: torch.dtype) -> Callable[..., None]:
    """An all-reduce of fp32 tensors whose messages are in `dtype` and whose sums are in fp32.

    Cost: 2(p - 1) steps and the bytes of a ring; a rank holds p chunks that have arrived, which is n bytes more.
    """

    def all_reduce_summed_once(comm: Communicator, tensor: torch.Tensor) -> None:
        """Leave on every rank the sum of all ranks' tensors: rank r adds up chunk r of all, and rounds the sum."""
        chunks = list(tensor.detach().view(-1).to(dtype).tensor_split(comm.world_size))
        arrived = chunks[comm.rank].new_empty(comm.world_size, chunks[comm.rank].numel())
        all_to_all(comm, list(arrived), chunks)
        all_gather(comm, chunks, arrived.float().sum(0).to(dtype))
        tensor.view(-1).copy_(torch.cat(chunks))

    return all_reduce_summed_once


def _rounded(tensor: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """The tensor in `dtype`; what becomes nothing is 0.0 there and not −0.0, which says that there is no gradient."""
    rounded = tensor.to(dtype)
    return rounded.masked_fill_((rounded == 0) & (tensor != 0), 0.0)
