"""All-gather round a ring: every rank gets the tensors of all. The second circle of the ring all-reduce."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import torch
from numpy.typing import ArrayLike

from course_lib.collectives._reduce import exchange, flatten, flatten_chunks, keep
from course_lib.collectives.cost import Cost, chunk_bytes, levels
from course_lib.collectives.ring import all_gather_steps
from course_lib.comm import Communicator, Network
from course_lib.comm.collective import collective

__all__ = ["all_gather", "all_gather_cost", "all_gather_seconds"]


@collective
def all_gather(comm: Communicator, chunks: Sequence[torch.Tensor], tensor: torch.Tensor) -> None:
    """Leave in every rank's `chunks` the `tensor` of each rank.

    Cost: p - 1 steps; every rank sends p - 1 chunks.
    Source: Thakur, Rabenseifner and Gropp, IJHPCA 19(1), 2005, on all-gather (ring).
    """
    flats = flatten_chunks(comm, chunks)
    right, left = (comm.rank + 1) % comm.world_size, (comm.rank - 1) % comm.world_size
    keep(flats[comm.rank], flatten(tensor))
    for outgoing, arriving in all_gather_steps(comm.rank, comm.world_size):
        exchange(comm, flats[outgoing], right, flats[arriving], left)


def all_gather_cost(message_bytes: int, *, world_size: int, element_bytes: int = 4) -> Cost:
    """Counts of `all_gather` of `message_bytes` in all, held in chunks as `tensor_split` cuts them.

    >>> all_gather_cost(400, world_size=4)
    Cost(steps=3, messages=12, bytes_sent=(300, 300, 300, 300))
    """
    p, chunks = world_size, chunk_bytes(message_bytes, world_size, element_bytes)
    return Cost(
        steps=p - 1,
        messages=p * (p - 1),
        bytes_sent=tuple(message_bytes - chunks[(rank + 1) % p] for rank in range(p)),
        formula=partial(all_gather_seconds, message_bytes, world_size),
    )


def all_gather_seconds(message_bytes: ArrayLike, world_size: ArrayLike, network: Network) -> ArrayLike:
    """Time of `all_gather`: (p - 1)(α + n/p β), n bytes in all.

    Exact for every p that divides the number of elements; otherwise each step may carry up to one element more.
    """
    n = message_bytes
    p = world_size
    at = levels(network, world_size)
    return (p - 1) * at.slowest_seconds(n / p)
