"""The conjugate operators: what is copied forward is summed backward, and the other way round.

              forward                   backward
    f  copy   x as it is                sum of all ranks' gradients
    g  sum    sum of all ranks' x       the gradient as it is
    gather    all ranks' parts of x     one's own part of the gradients' sum
    scatter   one's own part of the sum all ranks' parts of the gradient
    exchange  what each rank has for me the same, back

Gather and scatter cut along the sequence, dimension 1 of [batch, places, width]; together they move what f and g do.

Source: Shoeybi et al., "Megatron-LM", arXiv 1909.08053, section 3 (f and g); Korthikanti et al., "Reducing activation
recomputation in large transformer models", arXiv 2205.05198, section 4.2.2 (gather and scatter).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from course_lib.collectives import all_gather, all_to_all, reduce_scatter, ring_all_reduce
from course_lib.comm import Communicator

_Move = Callable[[Communicator, torch.Tensor], torch.Tensor]


class _Mirrored(torch.autograd.Function):
    """`there` of x on the way forward, and `back` of its gradient on the way back."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, comm: Communicator, there: _Move, back: _Move) -> torch.Tensor:
        ctx.comm, ctx.back = comm, back
        return there(comm, x)

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> tuple[torch.Tensor, None, None, None]:
        return ctx.back(ctx.comm, grads[0]), None, None, None


def copy_to_ranks(comm: Communicator, x: torch.Tensor) -> torch.Tensor:
    """f: x, used by every rank; its gradient is the sum of theirs, an all-reduce in the backward pass."""
    return _Mirrored.apply(x, comm, _same, _summed)


def sum_over_ranks(comm: Communicator, x: torch.Tensor) -> torch.Tensor:
    """g: the sum of all ranks' x, an all-reduce in the forward pass."""
    return _Mirrored.apply(x, comm, _summed, _same)


def gather_sequence(comm: Communicator, part: torch.Tensor) -> torch.Tensor:  # [b, t / p, d] -> [b, t, d]
    """All ranks' parts of a sequence, in the order of the ranks."""
    return _Mirrored.apply(part, comm, _gathered, _scattered)


def scatter_sequence(comm: Communicator, x: torch.Tensor) -> torch.Tensor:  # [b, t, d] -> [b, t / p, d]
    """This rank's part of the sum of all ranks' sequences."""
    return _Mirrored.apply(x, comm, _scattered, _gathered)


def exchange_parts(comm: Communicator, parts: torch.Tensor) -> torch.Tensor:  # [p, ...] -> [p, ...]
    """What each rank has for this one: an all-to-all of equal parts, whose backward pass is the same exchange."""
    return _Mirrored.apply(parts, comm, _exchanged, _exchanged)


def own_sequence(comm: Communicator, x: torch.Tensor) -> torch.Tensor:  # [b, t, ...] -> [b, t / p, ...]
    """This rank's part of a sequence that every rank has. Nothing crosses.

    Raises:
        ValueError: unless the ranks divide the sequence.
    """
    if x.shape[1] % comm.world_size:
        raise ValueError(f"{comm.world_size} ranks must divide the sequence, got {x.shape[1]} places")
    return x.chunk(comm.world_size, 1)[comm.rank]


def _same(comm: Communicator, x: torch.Tensor) -> torch.Tensor:
    return x.view_as(x)


def _summed(comm: Communicator, x: torch.Tensor) -> torch.Tensor:
    total = x.detach().clone(memory_format=torch.contiguous_format)
    ring_all_reduce(comm, total)
    return total


def _gathered(comm: Communicator, part: torch.Tensor) -> torch.Tensor:
    parts = [torch.empty_like(part, memory_format=torch.contiguous_format) for _ in range(comm.world_size)]
    all_gather(comm, parts, part.detach().contiguous())
    return torch.cat(parts, 1)


def _scattered(comm: Communicator, x: torch.Tensor) -> torch.Tensor:
    parts = [part.contiguous() for part in x.detach().chunk(comm.world_size, 1)]
    mine = torch.empty_like(parts[0])
    reduce_scatter(comm, mine, parts)
    return mine


def _exchanged(comm: Communicator, parts: torch.Tensor) -> torch.Tensor:
    outgoing = parts.detach().contiguous()
    incoming = torch.empty_like(outgoing)
    all_to_all(comm, list(incoming), list(outgoing))
    return incoming
