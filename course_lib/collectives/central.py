"""All-reduce through one rank: it collects everything, adds, and gives everybody the sum.

1  2  3        1  2  3
 ╲ │ ╱    →     ╲ │ ╱        The center's port carries everything,
   0              0          the others' ports next to nothing.
"""

from __future__ import annotations

from functools import partial

import torch
from numpy.typing import ArrayLike

from course_lib.collectives._reduce import begin, combine, finish
from course_lib.collectives.cost import Cost, check_size, levels
from course_lib.comm import Communicator, Network
from course_lib.comm.collective import collective

__all__ = ["central_all_reduce", "central_all_reduce_cost", "central_all_reduce_seconds"]


@collective
def central_all_reduce(comm: Communicator, tensor: torch.Tensor, op: str = "sum") -> None:
    """Leave on every rank the sum of all ranks' tensors, added up by rank 0.

    Cost: 2 steps; rank 0 receives and sends n(p - 1) bytes (and needs room for them), every other rank n.
    """
    flat, center = begin(tensor, op, comm), 0
    if comm.rank != center:
        comm.send(flat, center)
        comm.recv(flat, center)
        return
    copies = {rank: torch.empty_like(flat) for rank in range(1, comm.world_size)}
    for work in [comm.irecv(copy, rank) for rank, copy in copies.items()]:
        work.wait()
    for copy in copies.values():
        combine(op, flat, copy, comm)
    finish(op, flat, comm)
    for work in [comm.isend(flat, rank) for rank in copies]:
        work.wait()


def central_all_reduce_cost(message_bytes: int, *, world_size: int, element_bytes: int = 4) -> Cost:
    """Counts of `central_all_reduce`.

    >>> central_all_reduce_cost(400, world_size=4)
    Cost(steps=2, messages=6, bytes_sent=(1200, 400, 400, 400))
    """
    check_size(message_bytes, world_size, element_bytes)
    others = world_size - 1
    return Cost(
        steps=min(2, 2 * others),
        messages=2 * others,
        bytes_sent=(message_bytes * others, *(message_bytes,) * others),
        formula=partial(central_all_reduce_seconds, message_bytes, world_size),
    )


def central_all_reduce_seconds(message_bytes: ArrayLike, world_size: ArrayLike, network: Network) -> ArrayLike:
    """Time of `central_all_reduce`: 2(p - 1)(α + nβ) + (p - 1) n γ, for the center's port carries all messages in turn.

    Exact for every p; with nodes too, where the messages from the center's own node are the faster ones.
    """
    n = message_bytes
    p = world_size
    at = levels(network, world_size)
    one_way_s = (at.per_node - 1) * at.inside.seconds(n) + (p - at.per_node) * at.outside.seconds(n)
    return 2 * one_way_s + (p - 1) * n * at.add_s_per_byte
