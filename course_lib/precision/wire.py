"""Gradients on the wire in 16 bits: half the bytes of fp32, for any way of averaging that takes an all-reduce.

    fp32 ── round to 16 bits ─▶ all-reduce: 16-bit messages, 16-bit sums ─▶ fp32          `all_reduce_in`
    fp32 ── round to 16 bits ─▶ each chunk's owner adds in fp32, rounds once ─▶ fp32      `all_reduce_at_owners`

Both send 2n(p - 1)/p bytes for n bytes of 16-bit gradients. The first rounds a sum each time that it is passed on; the
second once. Divide by the ranks before, as `DataParallel` does, for a sum of p gradients leaves fp16's range p times
sooner than their mean.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from course_lib.collectives import all_gather, all_to_all, ring_all_reduce
from course_lib.comm import Communicator

__all__ = ["all_reduce_at_owners", "all_reduce_in"]


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
