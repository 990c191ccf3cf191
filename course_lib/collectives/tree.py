"""All-reduce up and down a binomial tree: reduce to rank 0, then broadcast from it.

    0                Up: partial sums. Down: the sum.
  ╱ │ ╲              Few steps, but always the whole tensor,
1   2   4            and rank 0 works in each of them while
    │  ╱ ╲           every second rank (a leaf) sends once.
    3 5   6 ─ 7
"""

from __future__ import annotations

from functools import partial

import torch
from numpy.typing import ArrayLike

from course_lib.collectives.broadcast import broadcast, broadcast_cost, broadcast_seconds
from course_lib.collectives.cost import Cost
from course_lib.collectives.reduce import reduce, reduce_cost, reduce_seconds
from course_lib.comm import Communicator, Network
from course_lib.comm.collective import collective

__all__ = ["tree_all_reduce", "tree_all_reduce_cost", "tree_all_reduce_seconds"]


@collective
def tree_all_reduce(comm: Communicator, tensor: torch.Tensor, op: str = "sum") -> None:
    """Leave on every rank the sum of all ranks' tensors: up a binomial tree to rank 0 and down again.

    Cost: 2⌈log₂ p⌉ steps, 2n(p - 1) bytes in all; rank 0 sends n⌈log₂ p⌉, a leaf n.
    Source: Thakur, Rabenseifner and Gropp, IJHPCA 19(1), 2005, on all-reduce.
    """
    reduce(comm, tensor, 0, op)
    broadcast(comm, tensor, 0)


def tree_all_reduce_cost(message_bytes: int, *, world_size: int, element_bytes: int = 4) -> Cost:
    """Counts of `tree_all_reduce`.

    >>> tree_all_reduce_cost(100, world_size=8)
    Cost(steps=6, messages=14, bytes_sent=(300, 100, 200, 100, 300, 100, 200, 100))
    """
    up = reduce_cost(message_bytes, world_size=world_size, element_bytes=element_bytes)
    down = broadcast_cost(message_bytes, world_size=world_size, element_bytes=element_bytes)
    return Cost(
        steps=up.steps + down.steps,
        messages=up.messages + down.messages,
        bytes_sent=tuple(a + b for a, b in zip(up.bytes_sent, down.bytes_sent, strict=True)),
        formula=partial(tree_all_reduce_seconds, message_bytes, world_size),
    )


def tree_all_reduce_seconds(message_bytes: ArrayLike, world_size: ArrayLike, network: Network) -> ArrayLike:
    """Time of `tree_all_reduce`: 2⌈log₂ p⌉ (α + nβ) + ⌈log₂ p⌉ nγ.

    Exact for every p, and with nodes where `broadcast_seconds` is.
    """
    n, p = message_bytes, world_size
    return reduce_seconds(n, p, network) + broadcast_seconds(n, p, network)
