"""Making the number of ranks a power of two: the ranks left over hand their numbers in first and get the sum last."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import ArrayLike

from course_lib.collectives._reduce import combine
from course_lib.collectives.cost import Levels
from course_lib.comm import Communicator

__all__ = ["core_size", "fold", "folding_seconds", "rounds_inside", "unfold"]


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


def folding_seconds(at: Levels, surplus: ArrayLike, message_bytes: ArrayLike) -> ArrayLike:
    """Time in which `surplus` ranks hand in n bytes each, or get them: those of one node share its port."""
    through_one_port = np.where(np.greater(at.nodes, 1), np.minimum(surplus, at.per_node), np.minimum(surplus, 1))
    return through_one_port * at.slowest_seconds(message_bytes)


def rounds_inside(at: Levels, world_size: ArrayLike) -> ArrayLike:
    """In how many rounds, the first ones, each rank's partner (1, 2, 4, ... away) is always in its own node.

    As often as 2 divides the ranks of a node; in all rounds where there is only one node.
    """
    ranks = np.asarray(at.per_node).astype(np.int64)
    rounds = np.floor(np.log2(world_size))
    return np.where(np.greater(at.nodes, 1), np.minimum(np.log2(ranks & -ranks), rounds), rounds)
