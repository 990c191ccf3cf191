"""Scatter: one rank gives every rank its chunk."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import torch
from numpy.typing import ArrayLike

from course_lib.collectives._reduce import check_rank, flatten, flatten_chunks, keep
from course_lib.collectives.cost import Cost, chunk_bytes, levels
from course_lib.comm import Communicator, Network
from course_lib.comm.collective import collective

__all__ = ["scatter", "scatter_cost", "scatter_seconds"]


@collective
def scatter(comm: Communicator, tensor: torch.Tensor, chunks: Sequence[torch.Tensor] | None, src: int) -> None:
    """Leave in each rank's `tensor` its chunk of the `chunks` of rank `src` (the others pass None).

    Cost: 1 step; rank `src` sends p - 1 chunks, all at once, and its port carries them in turn.
    """
    flat = flatten(tensor)
    check_rank(comm, src, "src")
    if comm.rank != src:
        comm.recv(flat, src)
        return
    outgoing = flatten_chunks(comm, chunks)
    for work in [comm.isend(chunk, rank) for rank, chunk in enumerate(outgoing) if rank != src]:
        work.wait()
    keep(flat, outgoing[src])


def scatter_cost(message_bytes: int, *, world_size: int, src: int = 0, element_bytes: int = 4) -> Cost:
    """Counts of `scatter` of a message of `message_bytes` in all, cut as `tensor_split` does.

    >>> scatter_cost(400, world_size=4)
    Cost(steps=1, messages=3, bytes_sent=(300, 0, 0, 0))
    """
    chunks = chunk_bytes(message_bytes, world_size, element_bytes)
    return Cost(
        steps=min(1, world_size - 1),
        messages=world_size - 1,
        bytes_sent=tuple((message_bytes - chunks[src]) * (rank == src) for rank in range(world_size)),
        formula=partial(scatter_seconds, message_bytes, world_size),
    )


def scatter_seconds(message_bytes: ArrayLike, world_size: ArrayLike, network: Network) -> ArrayLike:
    """Time of `scatter`: (p - 1)α + n(p - 1)/p β, n bytes in all.

    Exact for every p that divides the number of elements: else rank `src` keeps a chunk that is up to one element
    longer or shorter than n/p.
    """
    n = message_bytes
    p = world_size
    at = levels(network, world_size)
    return (at.per_node - 1) * at.inside.seconds(n / p) + (p - at.per_node) * at.outside.seconds(n / p)
