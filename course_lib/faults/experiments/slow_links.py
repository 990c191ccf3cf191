"""Degraded links: find them by timing each link alone, and order the ranks of a ring so that it avoids them."""

from __future__ import annotations

import itertools
from collections.abc import Collection

import torch

from course_lib.collectives import all_gather
from course_lib.comm import Communicator


def link_seconds(comm: Communicator, message_bytes: int = 100_000) -> torch.Tensor:
    """How long one message takes from each rank to each other, [src, dst], the same table on every rank.

    In round d every rank sends to the one d places further, so that no two messages share a port; between rounds all
    wait for each other, or a slow link would make the next round look slow.
    """
    message, arrived = torch.zeros(message_bytes, dtype=torch.uint8), torch.zeros(message_bytes, dtype=torch.uint8)
    from_others = torch.zeros(comm.world_size)
    for distance in range(1, comm.world_size):
        comm.barrier()
        src, began_s = (comm.rank - distance) % comm.world_size, comm.now()
        with comm.batch():
            sent = comm.isend(message, (comm.rank + distance) % comm.world_size)
            comm.recv(arrived, src)
        from_others[src] = comm.now() - began_s
        sent.wait()
    columns = [torch.zeros(comm.world_size) for _ in range(comm.world_size)]
    all_gather(comm, columns, from_others)
    return torch.stack(columns, dim=1)


def ring_avoiding(world_size: int, slow: Collection[tuple[int, int]]) -> list[int] | None:
    """An order of the ranks in which no rank sends to its right neighbor over a slow link; None if there is none.

    Cost: it tries orders, so it is for a few slow links among a few ranks.

    >>> ring_avoiding(4, {(0, 1)}), ring_avoiding(3, {(0, 1)}), ring_avoiding(2, {(0, 1)})
    ([0, 2, 1, 3], [0, 2, 1], None)
    """
    for rest in itertools.permutations(range(1, world_size)):
        order = [0, *rest]
        if not any(link in slow for link in zip(order, [*rest, 0], strict=True)):
            return order
    return None
