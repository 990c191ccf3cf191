"""Broadcast down a binomial tree: whoever has the tensor passes it on, so in each step twice as many have it.

step 1   0 ────────────► 4
step 2   0 ────► 2       4 ────► 6
step 3   0 ► 1   2 ► 3   4 ► 5   6 ► 7
"""

from __future__ import annotations

from functools import partial

import torch
from numpy.typing import ArrayLike

from course_lib.collectives._reduce import check_rank, flatten, powers_of_two
from course_lib.collectives.cost import Cost, check_size, levels, log2_ceil
from course_lib.comm import Communicator, Network
from course_lib.comm.collective import collective

__all__ = ["binomial_children", "binomial_parent", "broadcast", "broadcast_cost", "broadcast_seconds"]


def binomial_parent(place: int) -> int:
    """The place above `place` > 0 in a binomial tree with its root at place 0: the same number without its lowest bit.

    >>> [binomial_parent(place) for place in range(1, 8)]
    [0, 0, 2, 0, 4, 4, 6]
    """
    return place & (place - 1)


def binomial_children(place: int, world_size: int) -> list[int]:
    """The places below `place` in a binomial tree with its root at place 0, the nearest first.

    >>> [binomial_children(place, 8) for place in range(5)]
    [[1, 2, 4], [], [3], [], [5, 6]]
    """
    lowest_bit = place & -place or world_size
    return [place + step for step in powers_of_two(min(lowest_bit, world_size)) if place + step < world_size]


@collective
def broadcast(comm: Communicator, tensor: torch.Tensor, src: int) -> None:
    """Leave on every rank the tensor of rank `src`, passed on along a binomial tree.

    Cost: ⌈log₂ p⌉ steps, p - 1 messages of n bytes; rank `src` sends ⌈log₂ p⌉ of them.
    Source: Thakur, Rabenseifner and Gropp, "Optimization of collective communication operations in MPICH",
    IJHPCA 19(1), 2005, on broadcast.
    """
    flat = flatten(tensor)
    check_rank(comm, src, "src")
    place = (comm.rank - src) % comm.world_size  # the tree is drawn for root 0
    if place:
        comm.recv(flat, (binomial_parent(place) + src) % comm.world_size)
    for child in reversed(binomial_children(place, comm.world_size)):  # the largest branch first
        comm.send(flat, (child + src) % comm.world_size)


def broadcast_cost(message_bytes: int, *, world_size: int, src: int = 0, element_bytes: int = 4) -> Cost:
    """Counts of `broadcast`.

    >>> broadcast_cost(100, world_size=8)
    Cost(steps=3, messages=7, bytes_sent=(300, 0, 100, 0, 200, 0, 100, 0))
    """
    check_size(message_bytes, world_size, element_bytes)
    places = [(rank - src) % world_size for rank in range(world_size)]
    return Cost(
        steps=int(log2_ceil(world_size)),
        messages=world_size - 1,
        bytes_sent=tuple(message_bytes * len(binomial_children(place, world_size)) for place in places),
        formula=partial(broadcast_seconds, message_bytes, world_size),
    )


def broadcast_seconds(message_bytes: ArrayLike, world_size: ArrayLike, network: Network) -> ArrayLike:
    """Time of `broadcast`: ⌈log₂ p⌉ (α + nβ). Exact for every p.

    With nodes, from rank 0, exact where the ranks of a node are a power of two: then no node sends two messages
    at once.

    Source: Thakur, Rabenseifner and Gropp, IJHPCA 19(1), 2005, on broadcast.
    """
    n, at = message_bytes, levels(network, world_size)
    return log2_ceil(at.per_node) * at.inside.seconds(n) + log2_ceil(at.nodes) * at.outside.seconds(n)
