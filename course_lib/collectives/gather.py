"""Gather: one rank gets the tensors of all; scatter run backward."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import torch
from numpy.typing import ArrayLike

from course_lib.collectives._reduce import check_rank, flatten, flatten_chunks, keep
from course_lib.collectives.cost import Cost, chunk_bytes
from course_lib.collectives.scatter import scatter_seconds
from course_lib.comm import Communicator, Network
from course_lib.comm.collective import collective

__all__ = ["gather", "gather_cost", "gather_seconds"]


@collective
def gather(comm: Communicator, tensor: torch.Tensor, chunks: Sequence[torch.Tensor] | None, dst: int) -> None:
    """Leave in the `chunks` of rank `dst` the `tensor` of every rank (the others pass None).

    Cost: 1 step; rank `dst` receives p - 1 chunks, and its port carries them in turn.
    """
    flat = flatten(tensor)
    check_rank(comm, dst, "dst")
    if comm.rank != dst:
        comm.send(flat, dst)
        return
    incoming = flatten_chunks(comm, chunks)
    for work in [comm.irecv(chunk, rank) for rank, chunk in enumerate(incoming) if rank != dst]:
        work.wait()
    keep(incoming[dst], flat)


def gather_cost(message_bytes: int, *, world_size: int, dst: int = 0, element_bytes: int = 4) -> Cost:
    """Counts of `gather` of `message_bytes` in all, held in chunks as `tensor_split` cuts them.

    >>> gather_cost(400, world_size=4)
    Cost(steps=1, messages=3, bytes_sent=(0, 100, 100, 100))
    """
    chunks = chunk_bytes(message_bytes, world_size, element_bytes)
    return Cost(
        steps=min(1, world_size - 1),
        messages=world_size - 1,
        bytes_sent=tuple(chunk * (rank != dst) for rank, chunk in enumerate(chunks)),
        formula=partial(gather_seconds, message_bytes, world_size),
    )


def gather_seconds(message_bytes: ArrayLike, world_size: ArrayLike, network: Network) -> ArrayLike:
    """Time of `gather`: (p - 1)α + n(p - 1)/p β, n bytes in all. Exact for every p for which `scatter_seconds` is."""
    return scatter_seconds(message_bytes, world_size, network)
