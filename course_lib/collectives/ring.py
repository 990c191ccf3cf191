"""All-reduce round a ring: every rank sends a chunk to its right neighbor and receives one from its left.

      chunk 0   1   2                  chunk 0   1   2                  chunk 0   1   2
    rank 0  a0  a1  a2     first       rank 0  ABC .   .      second       rank 0  ABC ABC ABC
    rank 1  b0  b1  b2     circle      rank 1  .   ABC .      circle       rank 1  ABC ABC ABC
    rank 2  c0  c1  c2   (p-1 steps)   rank 2  .   .   ABC  (p-1 steps)    rank 2  ABC ABC ABC

In the first circle (reduce-scatter) the receiver adds what arrives, in the second (all-gather) it keeps it as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import torch
from numpy.typing import ArrayLike

from course_lib.collectives._reduce import begin, combine, finish, inboxes, split
from course_lib.collectives.cost import Cost, chunk_bytes, levels
from course_lib.comm import Communicator, Network
from course_lib.comm.collective import collective

__all__ = [
    "Send",
    "all_gather_steps",
    "reduce_scatter_steps",
    "ring_all_reduce",
    "ring_all_reduce_cost",
    "ring_all_reduce_seconds",
    "ring_steps",
]


class Send(NamedTuple):
    """One message of a plan: rank `src` sends chunk number `chunk` to rank `dst`."""

    src: int
    dst: int
    chunk: int


def reduce_scatter_steps(rank: int, world_size: int) -> Iterator[tuple[int, int]]:
    """Yield for each step of the first circle the chunk that `rank` sends and the one that it receives and adds.

    A rank passes on what it has just added to. Chunk c starts at rank c + 1, meets every rank, and ends at rank c.

    >>> list(reduce_scatter_steps(0, world_size=4))
    [(3, 2), (2, 1), (1, 0)]
    """
    for step in range(1, world_size):
        yield (rank - step) % world_size, (rank - step - 1) % world_size


def all_gather_steps(rank: int, world_size: int) -> Iterator[tuple[int, int]]:
    """Yield for each step of the second circle the chunk that `rank` sends and the one that it receives and keeps.

    >>> list(all_gather_steps(0, world_size=4))
    [(0, 3), (3, 2), (2, 1)]
    """
    for step in range(world_size - 1):
        yield (rank - step) % world_size, (rank - step - 1) % world_size


def ring_steps(world_size: int) -> list[list[Send]]:
    """All sends of each of the 2(p - 1) steps: the plan as data.

    >>> for step in ring_steps(2):
    ...     print(*step)
    Send(src=0, dst=1, chunk=1) Send(src=1, dst=0, chunk=0)
    Send(src=0, dst=1, chunk=0) Send(src=1, dst=0, chunk=1)
    """
    plans = [[*reduce_scatter_steps(r, world_size), *all_gather_steps(r, world_size)] for r in range(world_size)]
    return [
        [Send(rank, (rank + 1) % world_size, chunk) for rank, (chunk, _) in enumerate(step)]
        for step in zip(*plans, strict=True)
    ]


@collective
def ring_all_reduce(comm: Communicator, tensor: torch.Tensor, op: str = "sum") -> None:
    """Leave on every rank the sum of all ranks' tensors, passing chunks round a ring.

    Cost: 2(p - 1) steps; every rank sends 2n(p - 1)/p bytes: no all-reduce spares its busiest rank more.
    Source: Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms", JPDC 69(2), 2009.
    """
    flat = begin(tensor, op, comm)
    chunks = split(flat, comm.world_size)
    incoming = inboxes(chunks)
    right, left = (comm.rank + 1) % comm.world_size, (comm.rank - 1) % comm.world_size
    for outgoing, arriving in reduce_scatter_steps(comm.rank, comm.world_size):
        sent = comm.isend(chunks[outgoing], right)
        comm.recv(incoming[arriving], left)
        sent.wait()
        combine(op, chunks[arriving], incoming[arriving], comm)
    for outgoing, arriving in all_gather_steps(comm.rank, comm.world_size):
        sent = comm.isend(chunks[outgoing], right)
        comm.recv(chunks[arriving], left)
        sent.wait()
    finish(op, flat, comm)


def ring_all_reduce_cost(message_bytes: int, *, world_size: int, element_bytes: int = 4) -> Cost:
    """Counts of `ring_all_reduce`, exact for chunks of unequal length too.

    >>> ring_all_reduce_cost(400, world_size=4)
    Cost(steps=6, messages=24, bytes_sent=(600, 600, 600, 600))
    """
    p, chunks = world_size, chunk_bytes(message_bytes, world_size, element_bytes)
    return Cost(
        steps=2 * (p - 1),
        messages=2 * (p - 1) * p,
        bytes_sent=tuple(2 * message_bytes - chunks[r] - chunks[(r + 1) % p] for r in range(p)) if p > 1 else (0,),
        formula=partial(ring_all_reduce_seconds, message_bytes, world_size),
    )


def ring_all_reduce_seconds(message_bytes: ArrayLike, world_size: ArrayLike, network: Network) -> ArrayLike:
    """Time of `ring_all_reduce`: 2(p - 1)(α + n/p β) + (p - 1) n/p γ.

    Exact for every p that divides the number of elements; otherwise each step may carry up to one element more. Between
    nodes each step waits for the one message that leaves the node, so the link outside counts; additions then hide
    partly behind it.

    Source: Patarasuk and Yuan, JPDC 69(2), 2009.
    """
    n = message_bytes
    p = world_size
    at = levels(network, world_size)
    return 2 * (p - 1) * at.slowest_seconds(n / p) + (p - 1) * n / p * at.add_s_per_byte
