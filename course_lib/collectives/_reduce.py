"""What all collectives share: flat views of tensors, chunks, and the one place where numbers are combined."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from course_lib.comm import Communicator

__all__ = ["check_rank", "combine", "exchange", "finish", "flatten", "inboxes", "powers_of_two"]

_OPS = ("sum", "mean", "max")


def flatten(tensor: torch.Tensor, op: str = "sum") -> torch.Tensor:
    """The tensor's own memory as one row of numbers, apart from autograd.

    Raises:
        ValueError: if `tensor` has gaps in memory, or if `op` is not "sum", "mean" or "max".
        TypeError: if `tensor` is no tensor of numbers, or if `op` cannot be had in its dtype.
    """
    if not isinstance(tensor, torch.Tensor):
        raise TypeError(f"a collective works on a torch.Tensor, got {type(tensor).__name__}")
    if not tensor.is_contiguous():
        raise ValueError(f"a collective needs a tensor that is contiguous in memory, got strides {tensor.stride()}")
    if op not in _OPS:
        raise ValueError(f'op must be "sum", "mean" or "max", got {op!r}')
    if tensor.dtype == torch.bool or (op == "mean" and not tensor.dtype.is_floating_point):
        raise TypeError(f'op "{op}" cannot be had in {tensor.dtype}: convert the tensor first, say with .float()')
    return tensor.detach().view(-1)


def combine(op: str, into: torch.Tensor, incoming: torch.Tensor, comm: Communicator) -> None:
    """Add `incoming` to `into` (or keep the larger numbers); takes reduce_s_per_byte where the network says so.

    "mean" adds too: `finish` divides once at the end.
    """
    if not into.is_meta:
        if op == "max":
            torch.maximum(into, incoming, out=into)
        else:
            into.add_(incoming)
    if comm.network is not None and comm.network.reduce_s_per_byte:
        comm.compute(into.nbytes * comm.network.reduce_s_per_byte, label="add")


def finish(op: str, total: torch.Tensor, comm: Communicator) -> None:
    """Make the sum over all ranks a mean if that is what was asked for."""
    if op == "mean" and not total.is_meta:
        total.div_(comm.world_size)


def exchange(comm: Communicator, outgoing: torch.Tensor, dst: int, incoming: torch.Tensor, src: int) -> None:
    """Send to one rank while receiving from another (or the same), and wait for both."""
    sent = comm.isend(outgoing, dst)
    comm.recv(incoming, src)
    sent.wait()


def inboxes(chunks: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """For each chunk a view of its length to receive it into; all are views of one buffer."""
    buffer = torch.empty_like(max(chunks, key=torch.Tensor.numel))
    views = {length: buffer[:length] for length in {chunk.numel() for chunk in chunks}}
    return [views[chunk.numel()] for chunk in chunks]


def powers_of_two(limit: int) -> list[int]:
    """1, 2, 4, ... below `limit`.

    >>> powers_of_two(8), powers_of_two(9), powers_of_two(1)
    ([1, 2, 4], [1, 2, 4, 8], [])
    """
    return [1 << k for k in range((limit - 1).bit_length())]


def check_rank(comm: Communicator, rank: int, name: str) -> None:
    """Raise ValueError unless `rank` is one of the communicator's ranks."""
    if not isinstance(rank, int) or not 0 <= rank < comm.world_size:
        raise ValueError(f"{name} must be a rank from 0 to {comm.world_size - 1}, got {rank!r}")
