"""All-reduce on nodes: reduce inside each node to its first rank, all-reduce between these, broadcast inside.

    node 0        node 1          node 0        node 1          node 0        node 1
    0 ◄ 1 2 3     4 ◄ 5 6 7       0 ◄─────────► 4               0 ► 1 2 3     4 ► 5 6 7
      reduce        reduce          all-reduce between nodes      broadcast     broadcast

Why through one rank of each node, and not a slice through each? Both send 2n(N - 1)/N bytes out of each of N nodes,
where N is a power of two. But where a node has one port, messages of its g ranks wait for each other in it: g slices
pay the latency outside g times, one rank pays it once. The price is paid inside, where bytes are cheap: whole tensors
instead of slices.
(Slices are right where every GPU has a network card of its own; halving-doubling sends them without being told.)
"""

from __future__ import annotations

from functools import partial

import torch
from numpy.typing import ArrayLike

from course_lib.checks import at_least
from course_lib.collectives.buffers import begin, finish
from course_lib.collectives.cost import Cost, check_size, levels
from course_lib.collectives.doubling import (
    halving_doubling_all_reduce,
    halving_doubling_all_reduce_cost,
    halving_doubling_all_reduce_seconds,
)
from course_lib.collectives.trees import broadcast, broadcast_cost, broadcast_seconds, reduce, reduce_seconds
from course_lib.comm import Communicator, Network
from course_lib.comm.collective import collective


@collective
def hierarchical_all_reduce(
    comm: Communicator, tensor: torch.Tensor, op: str = "sum", ranks_per_node: int | None = None
) -> None:
    """Leave on every rank the sum of all ranks' tensors; between nodes only the first rank of each speaks.

    Args:
        ranks_per_node: None for what the network says, or 2 if it says nothing. The last node may have fewer.

    Cost: 2⌈log₂ g⌉ steps inside of n bytes; between N nodes as `halving_doubling_all_reduce` of N ranks.
    Source: Goyal et al., "Accurate, large minibatch SGD", arXiv 1706.02677, 2017, section 4 (the same three phases).
    """
    size = _node_size(comm.network, ranks_per_node)
    first, adding = comm.rank - comm.rank % size, "max" if op == "max" else "sum"
    node = comm.group(range(first, min(first + size, comm.world_size)))
    flat = begin(tensor, op, comm)
    reduce(node, flat, 0, adding)
    if comm.rank == first:
        halving_doubling_all_reduce(comm.group(range(0, comm.world_size, size)), flat, adding)
        finish(op, flat, comm)
    broadcast(node, flat, 0)


def _node_size(network: Network | None, ranks_per_node: int | None) -> int:
    size = ranks_per_node if ranks_per_node is not None else (network and network.ranks_per_node) or 2
    at_least(1, ranks_per_node=size)
    return size


def hierarchical_all_reduce_cost(
    message_bytes: int, *, world_size: int, element_bytes: int = 4, ranks_per_node: int = 2
) -> Cost:
    """Counts of `hierarchical_all_reduce` on nodes of `ranks_per_node`.

    >>> hierarchical_all_reduce_cost(400, world_size=8, ranks_per_node=4)
    Cost(steps=6, messages=16, bytes_sent=(1200, 400, 800, 400, 1200, 400, 800, 400))
    """
    check_size(message_bytes, world_size, element_bytes)
    at_least(1, ranks_per_node=ranks_per_node)
    size, last = min(ranks_per_node, world_size), (world_size - 1) % ranks_per_node + 1
    nodes = -(-world_size // size)
    across = halving_doubling_all_reduce_cost(message_bytes, world_size=nodes, element_bytes=element_bytes)
    full, rest = (broadcast_cost(message_bytes, world_size=p, element_bytes=element_bytes) for p in (size, last))
    inside = [full] * (nodes - 1) + [rest]
    sent: list[int] = []
    for down, leader_bytes in zip(inside, across.bytes_sent, strict=True):
        up = (leader_bytes, *(message_bytes,) * (len(down.bytes_sent) - 1))
        sent += [a + b for a, b in zip(up, down.bytes_sent, strict=True)]
    return Cost(
        steps=2 * inside[0].steps + across.steps,
        messages=2 * sum(down.messages for down in inside) + across.messages,
        bytes_sent=tuple(sent),
        formula=partial(hierarchical_all_reduce_seconds, message_bytes, world_size, ranks_per_node=ranks_per_node),
    )


def hierarchical_all_reduce_seconds(
    message_bytes: ArrayLike, world_size: ArrayLike, network: Network, ranks_per_node: int | None = None
) -> ArrayLike:
    """Time of `hierarchical_all_reduce`: ⌈log₂ g⌉ (2α + 2nβ + nγ) inside, halving-doubling of N ranks outside.

    Exact for every p and g, where the power of two next below N divides the number of elements; otherwise each step
    between nodes may carry up to one element more.

    Raises:
        ValueError: if the network has nodes of another size than `ranks_per_node`.
    """
    size = _node_size(network, ranks_per_node)
    if network.ranks_per_node not in (None, size):
        raise ValueError(f"the network has {network.ranks_per_node} ranks per node, ranks_per_node is {size}")
    at = levels(network, world_size, size)
    inside = Network.over(at.inside, reduce_s_per_byte=at.add_s_per_byte)
    outside = Network.over(at.outside, reduce_s_per_byte=at.add_s_per_byte)
    n, g = message_bytes, at.per_node
    up_s, down_s = reduce_seconds(n, g, inside), broadcast_seconds(n, g, inside)
    return up_s + halving_doubling_all_reduce_seconds(n, at.nodes, outside) + down_s
