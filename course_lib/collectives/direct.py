"""All-reduce each with each: everybody sends everything to everybody, all at once, first to the right neighbor.

0 ⇄ 1        One step, p(p - 1) messages. Every port carries the
⇅ ⤬ ⇅        whole tensor p - 1 times, and every rank needs room
2 ⇄ 3        for p - 1 tensors.
"""

from __future__ import annotations

from functools import partial

import torch
from numpy.typing import ArrayLike

from course_lib.collectives._reduce import begin, combine, finish
from course_lib.collectives.cost import Cost, check_size, levels
from course_lib.comm import Communicator, Network
from course_lib.comm.collective import collective

__all__ = ["direct_all_reduce", "direct_all_reduce_cost", "direct_all_reduce_seconds"]


@collective
def direct_all_reduce(comm: Communicator, tensor: torch.Tensor, op: str = "sum") -> None:
    """Leave on every rank the sum of all ranks' tensors, each sending its own to each other.

    All ranks add in the same order, so all get the same bits. Each sends first to its right neighbor, then to the one
    after that: so in each turn every port carries a message. (If all sent to rank 0 first, its port would be a queue.)

    Cost: 1 step; every rank sends n(p - 1) bytes.
    """
    flat = begin(tensor, op, comm)
    copies = [flat.clone() if rank == comm.rank else torch.empty_like(flat) for rank in range(comm.world_size)]
    works = []
    for turn in range(1, comm.world_size):
        right, left = (comm.rank + turn) % comm.world_size, (comm.rank - turn) % comm.world_size
        works += [comm.irecv(copies[left], left), comm.isend(copies[comm.rank], right)]
    for work in works:
        work.wait()
    if not flat.is_meta:
        flat.copy_(copies[0])
    for copy in copies[1:]:
        combine(op, flat, copy, comm)
    finish(op, flat, comm)


def direct_all_reduce_cost(message_bytes: int, *, world_size: int, element_bytes: int = 4) -> Cost:
    """Counts of `direct_all_reduce`.

    >>> direct_all_reduce_cost(400, world_size=4)
    Cost(steps=1, messages=12, bytes_sent=(1200, 1200, 1200, 1200))
    """
    check_size(message_bytes, world_size, element_bytes)
    return Cost(
        steps=min(1, world_size - 1),
        messages=world_size * (world_size - 1),
        bytes_sent=(message_bytes * (world_size - 1),) * world_size,
        formula=partial(direct_all_reduce_seconds, message_bytes, world_size),
    )


def direct_all_reduce_seconds(message_bytes: ArrayLike, world_size: ArrayLike, network: Network) -> ArrayLike:
    """Time of `direct_all_reduce`: (p - 1)(α + nβ) + (p - 1) n γ, for each port carries p - 1 messages, one at a time.

    Exact for every p on equal links. Between nodes, g ranks share one port that must carry g(p - g) messages: it takes
    at least so long, and this is up to a tenth too high, for messages inside the node travel meanwhile.
    """
    n = message_bytes
    p = world_size
    at = levels(network, world_size)
    turns_inside, turns_outside = at.per_node - 1, at.per_node * (p - at.per_node)
    transfer_s = turns_inside * at.inside.seconds(n) + turns_outside * at.outside.seconds(n)
    return transfer_s + (p - 1) * n * at.add_s_per_byte
