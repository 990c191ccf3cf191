"""Reduce up a binomial tree: a broadcast run backward, with additions."""

from __future__ import annotations

from functools import partial

import torch
from numpy.typing import ArrayLike

from course_lib.collectives._reduce import begin, check_rank, combine, finish
from course_lib.collectives.broadcast import binomial_children, binomial_parent, broadcast_seconds
from course_lib.collectives.cost import Cost, check_size, levels, log2_ceil
from course_lib.comm import Communicator, Network
from course_lib.comm.collective import collective

__all__ = ["reduce", "reduce_cost", "reduce_seconds"]


@collective
def reduce(comm: Communicator, tensor: torch.Tensor, dst: int, op: str = "sum") -> None:
    """Leave on rank `dst` the sum of all ranks' tensors, collected along a binomial tree; the other ranks keep theirs.

    Cost: ⌈log₂ p⌉ steps, p - 1 messages of n bytes, one from each rank but `dst`.
    Source: Thakur, Rabenseifner and Gropp, IJHPCA 19(1), 2005, on reduce.
    """
    check_rank(comm, dst, "dst")
    place = (comm.rank - dst) % comm.world_size  # the tree is drawn for root 0
    children = binomial_children(place, comm.world_size)
    total = begin(tensor, op, comm, copy=place > 0 and (op == "mean" or len(children) > 0))
    incoming = torch.empty_like(total) if children else total
    for child in children:  # the smallest branch first: it is ready first
        comm.recv(incoming, (child + dst) % comm.world_size)
        combine(op, total, incoming, comm)
    if place:
        comm.send(total, (binomial_parent(place) + dst) % comm.world_size)
    else:
        finish(op, total, comm)


def reduce_cost(message_bytes: int, *, world_size: int, dst: int = 0, element_bytes: int = 4) -> Cost:
    """Counts of `reduce`.

    >>> reduce_cost(100, world_size=4)
    Cost(steps=2, messages=3, bytes_sent=(0, 100, 100, 100))
    """
    check_size(message_bytes, world_size, element_bytes)
    return Cost(
        steps=int(log2_ceil(world_size)),
        messages=world_size - 1,
        bytes_sent=tuple(message_bytes * (rank != dst) for rank in range(world_size)),
        formula=partial(reduce_seconds, message_bytes, world_size),
    )


def reduce_seconds(message_bytes: ArrayLike, world_size: ArrayLike, network: Network) -> ArrayLike:
    """Time of `reduce`: ⌈log₂ p⌉ (α + nβ + nγ). Exact for every p, as `broadcast_seconds` is.

    Source: Thakur, Rabenseifner and Gropp, IJHPCA 19(1), 2005, on reduce.
    """
    n, at = message_bytes, levels(network, world_size)
    rounds = log2_ceil(at.per_node) + log2_ceil(at.nodes)
    return broadcast_seconds(n, world_size, network) + rounds * n * at.add_s_per_byte
