"""Reduce-scatter round a ring: rank r gets the sum of all ranks' chunk r. The first circle of the ring all-reduce."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import cycle

import torch
from numpy.typing import ArrayLike

from course_lib.collectives._reduce import begin, combine, exchange, finish, flatten, flatten_chunks, inboxes, keep
from course_lib.collectives.all_gather import all_gather_seconds
from course_lib.collectives.cost import Cost, chunk_bytes
from course_lib.collectives.ring import reduce_scatter_steps
from course_lib.comm import Communicator, Network
from course_lib.comm.collective import collective

__all__ = ["reduce_scatter", "reduce_scatter_cost", "reduce_scatter_seconds"]


@collective
def reduce_scatter(comm: Communicator, output: torch.Tensor, chunks: Sequence[torch.Tensor], op: str = "sum") -> None:
    """Leave in the `output` of rank r the sum of all ranks' chunk r; the chunks stay as they were.

    The sums travel: each rank adds its own chunk to what arrives and passes the result on.

    Cost: p - 1 steps; every rank sends p - 1 chunks.
    Source: Patarasuk and Yuan, JPDC 69(2), 2009.
    """
    mine, result = flatten_chunks(comm, chunks, op), flatten(output, op)
    mine = [begin(chunk, op, comm, copy=True) for chunk in mine] if op == "mean" else mine
    right, left = (comm.rank + 1) % comm.world_size, (comm.rank - 1) % comm.world_size
    total, boxes = mine[left], cycle([inboxes(mine), inboxes(mine)])
    for (_, arriving), box in zip(reduce_scatter_steps(comm.rank, comm.world_size), boxes, strict=False):
        exchange(comm, total, right, box[arriving], left)
        total = box[arriving]
        combine(op, total, mine[arriving], comm)
    keep(result, total)
    finish(op, result, comm)


def reduce_scatter_cost(message_bytes: int, *, world_size: int, element_bytes: int = 4) -> Cost:
    """Counts of `reduce_scatter` of `message_bytes` on each rank, in chunks as `tensor_split` cuts them.

    >>> reduce_scatter_cost(400, world_size=4)
    Cost(steps=3, messages=12, bytes_sent=(300, 300, 300, 300))
    """
    p, chunks = world_size, chunk_bytes(message_bytes, world_size, element_bytes)
    return Cost(
        steps=p - 1,
        messages=p * (p - 1),
        bytes_sent=tuple(message_bytes - chunk for chunk in chunks),
        formula=partial(reduce_scatter_seconds, message_bytes, world_size),
    )


def reduce_scatter_seconds(message_bytes: ArrayLike, world_size: ArrayLike, network: Network) -> ArrayLike:
    """Time of `reduce_scatter`: (p - 1)(α + n/p β + n/p γ).

    Exact for every p that divides the number of elements; otherwise each step may carry up to one element more.
    """
    n, p = message_bytes, world_size
    return all_gather_seconds(n, p, network) + (p - 1) * n / p * network.reduce_s_per_byte
