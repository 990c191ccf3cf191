"""Broadcast, reduce and all-reduce along a binomial tree: whoever has the tensor passes it on.

step 1   0 ────────────► 4
step 2   0 ────► 2       4 ────► 6              in each step twice as many ranks have it
step 3   0 ► 1   2 ► 3   4 ► 5   6 ► 7
"""

from __future__ import annotations

from functools import partial

import torch
from numpy.typing import ArrayLike

from course_lib.collectives.buffers import begin, check_rank, combine, finish, flatten, powers_of_two
from course_lib.collectives.cost import Cost, check_size, levels, log2_ceil
from course_lib.comm import Communicator, Network
from course_lib.comm.collective import collective


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


# --- Reduce up a binomial tree: a broadcast run backward, with additions.


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


# --- All-reduce up and down a binomial tree: reduce to rank 0, then broadcast from it.
#
#     0                Up: partial sums. Down: the sum.
#   ╱ │ ╲              Few steps, but always the whole tensor,
# 1   2   4            and rank 0 works in each of them while
#     │  ╱ ╲           every second rank (a leaf) sends once.
#     3 5   6 ─ 7


@collective
def tree_all_reduce(comm: Communicator, tensor: torch.Tensor, op: str = "sum") -> None:
    """Leave on every rank the sum of all ranks' tensors: up a binomial tree to rank 0 and down again.

    Cost: 2⌈log₂ p⌉ steps, 2n(p - 1) bytes in all; rank 0 sends n⌈log₂ p⌉, a leaf n.
    Source: Thakur, Rabenseifner and Gropp, IJHPCA 19(1), 2005, on all-reduce.
    """
    reduce(comm, tensor, 0, op)
    broadcast(comm, tensor, 0)


def tree_all_reduce_cost(message_bytes: int, *, world_size: int, element_bytes: int = 4) -> Cost:
    """Counts of `tree_all_reduce`.

    >>> tree_all_reduce_cost(100, world_size=8)
    Cost(steps=6, messages=14, bytes_sent=(300, 100, 200, 100, 300, 100, 200, 100))
    """
    up = reduce_cost(message_bytes, world_size=world_size, element_bytes=element_bytes)
    down = broadcast_cost(message_bytes, world_size=world_size, element_bytes=element_bytes)
    return Cost(
        steps=up.steps + down.steps,
        messages=up.messages + down.messages,
        bytes_sent=tuple(a + b for a, b in zip(up.bytes_sent, down.bytes_sent, strict=True)),
        formula=partial(tree_all_reduce_seconds, message_bytes, world_size),
    )


def tree_all_reduce_seconds(message_bytes: ArrayLike, world_size: ArrayLike, network: Network) -> ArrayLike:
    """Time of `tree_all_reduce`: 2⌈log₂ p⌉ (α + nβ) + ⌈log₂ p⌉ nγ.

    Exact for every p, and with nodes where `broadcast_seconds` is.
    """
    n, p = message_bytes, world_size
    return reduce_seconds(n, p, network) + broadcast_seconds(n, p, network)
