"""All-to-all: every rank has a chunk for every rank. In turn k everybody sends k places to the right."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import torch
from numpy.typing import ArrayLike

from course_lib.collectives._reduce import exchange, flatten_chunks, keep
from course_lib.collectives.cost import Cost, chunk_bytes, levels
from course_lib.comm import Communicator, Network
from course_lib.comm.collective import collective

__all__ = ["all_to_all", "all_to_all_cost", "all_to_all_seconds"]


@collective
def all_to_all(comm: Communicator, outputs: Sequence[torch.Tensor], inputs: Sequence[torch.Tensor]) -> None:
    """Leave in `outputs[r]` what rank r had in its `inputs` for this rank.

    Cost: p - 1 steps; every rank sends p - 1 chunks. No two messages ever want the same port.
    Source: Thakur, Rabenseifner and Gropp, IJHPCA 19(1), 2005, on all-to-all (pairwise exchange).
    """
    incoming, outgoing = flatten_chunks(comm, outputs), flatten_chunks(comm, inputs)
    keep(incoming[comm.rank], outgoing[comm.rank])
    for turn in range(1, comm.world_size):
        dst, src = (comm.rank + turn) % comm.world_size, (comm.rank - turn) % comm.world_size
        exchange(comm, outgoing[dst], dst, incoming[src], src)


def all_to_all_cost(message_bytes: int, *, world_size: int, element_bytes: int = 4) -> Cost:
    """Counts of `all_to_all` of `message_bytes` on each rank, in chunks as `tensor_split` cuts them.

    >>> all_to_all_cost(400, world_size=4)
    Cost(steps=3, messages=12, bytes_sent=(300, 300, 300, 300))
    """
    chunks = chunk_bytes(message_bytes, world_size, element_bytes)
    return Cost(
        steps=world_size - 1,
        messages=world_size * (world_size - 1),
        bytes_sent=tuple(message_bytes - chunk for chunk in chunks),
        formula=partial(all_to_all_seconds, message_bytes, world_size),
    )


def all_to_all_seconds(message_bytes: ArrayLike, world_size: ArrayLike, network: Network) -> ArrayLike:
    """Time of `all_to_all`: (p - 1)(α + n/p β), n bytes on each rank.

    Exact for every p that divides the number of elements; otherwise each step may carry up to one element more. With
    nodes of g ranks the node's one port must carry g(p - g) chunks: at least so long.
    """
    n = message_bytes
    p = world_size
    at = levels(network, world_size)
    turns_inside, turns_outside = at.per_node - 1, at.per_node * (p - at.per_node)
    return turns_inside * at.inside.seconds(n / p) + turns_outside * at.outside.seconds(n / p)
