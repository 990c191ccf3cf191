"""Making the number of ranks a power of two: the ranks left over hand their numbers in first and get the sum last."""

from __future__ import annotations

import torch

from course_lib.collectives._reduce import combine
from course_lib.comm import Communicator

__all__ = ["core_size", "fold", "unfold"]


def core_size(world_size: int) -> int:
    """The largest power of two that is not above `world_size`.

    >>> [core_size(p) for p in (1, 2, 3, 8, 9)]
    [1, 2, 2, 8, 8]
    """
    return 1 << (world_size.bit_length() - 1)


def fold(comm: Communicator, flat: torch.Tensor, incoming: torch.Tensor, op: str) -> int:
    """Let each rank beyond the core hand its numbers to one inside; returns the core's size."""
    core = core_size(comm.world_size)
    if comm.rank >= core:
        comm.send(flat, comm.rank - core)
    elif comm.rank + core < comm.world_size:
        comm.recv(incoming, comm.rank + core)
        combine(op, flat, incoming, comm)
    return core


def unfold(comm: Communicator, flat: torch.Tensor) -> None:
    """Give the ranks outside the core the result."""
    core = core_size(comm.world_size)
    if comm.rank >= core:
        comm.recv(flat, comm.rank - core)
    elif comm.rank + core < comm.world_size:
        comm.send(flat, comm.rank + core)
