"""All-reduce by recursive doubling: in step k swap everything with the rank 2^k away, and add.

step 1   0 ⇄ 1   2 ⇄ 3   4 ⇄ 5   6 ⇄ 7      sums of 2 ranks
step 2   0 ⇄ 2   1 ⇄ 3   4 ⇄ 6   5 ⇄ 7      sums of 4
step 3   0 ⇄ 4   1 ⇄ 5   2 ⇄ 6   3 ⇄ 7      sums of 8
"""

from __future__ import annotations

from functools import partial

import numpy as np
import torch
from numpy.typing import ArrayLike

from course_lib.collectives._fold import core_size, fold, folding_seconds, rounds_inside, unfold
from course_lib.collectives._reduce import begin, combine, exchange, finish, powers_of_two
from course_lib.collectives.cost import Cost, check_size, levels
from course_lib.comm import Communicator, Network
from course_lib.comm.collective import collective

__all__ = [
    "recursive_doubling_all_reduce",
    "recursive_doubling_all_reduce_cost",
    "recursive_doubling_all_reduce_seconds",
]


@collective
def recursive_doubling_all_reduce(comm: Communicator, tensor: torch.Tensor, op: str = "sum") -> None:
    """Leave on every rank the sum of all ranks' tensors, swapping everything with partners ever farther away.

    Cost: log₂ p steps of n bytes from every rank; two more where p is no power of two, for the ranks left over.
    Source: Thakur, Rabenseifner and Gropp, IJHPCA 19(1), 2005, on all-reduce.
    """
    flat = begin(tensor, op, comm)
    incoming = torch.empty_like(flat)
    core = fold(comm, flat, incoming, op)
    if comm.rank < core:
        for distance in powers_of_two(core):
            partner = comm.rank ^ distance
            exchange(comm, flat, partner, incoming, partner)
            combine(op, flat, incoming, comm)
        finish(op, flat, comm)
    unfold(comm, flat)


def recursive_doubling_all_reduce_cost(message_bytes: int, *, world_size: int, element_bytes: int = 4) -> Cost:
    """Counts of `recursive_doubling_all_reduce`.

    >>> recursive_doubling_all_reduce_cost(100, world_size=5)
    Cost(steps=4, messages=10, bytes_sent=(300, 200, 200, 200, 100))
    """
    check_size(message_bytes, world_size, element_bytes)
    core = core_size(world_size)
    rounds, surplus = len(powers_of_two(core)), world_size - core
    sends = [rounds + (rank < surplus) if rank < core else 1 for rank in range(world_size)]
    return Cost(
        steps=rounds + (2 if surplus else 0),
        messages=sum(sends),
        bytes_sent=tuple(message_bytes * count for count in sends),
        formula=partial(recursive_doubling_all_reduce_seconds, message_bytes, world_size),
    )


def recursive_doubling_all_reduce_seconds(
    message_bytes: ArrayLike, world_size: ArrayLike, network: Network
) -> ArrayLike:
    """Time of `recursive_doubling_all_reduce`: log₂ p (α + nβ + nγ). Exact for every p on equal links.

    Ranks left over by a power of two cost 2(α + nβ) + nγ more. Between nodes of g ranks, all g want the node's one
    port at once, so a step takes g times as long, and so do two steps of those left over, if they are so many. Exact
    then, too, where g is a power of two and adding takes no time (γ = 0); otherwise too high, for some ranks of a node
    add while others still send, and with another g some partners are in one node whatever the round.

    Source: Thakur, Rabenseifner and Gropp, IJHPCA 19(1), 2005, on all-reduce.
    """
    n, at = message_bytes, levels(network, world_size)
    rounds = np.floor(np.log2(world_size))
    surplus, inside = world_size - 2**rounds, rounds_inside(at, world_size)
    swaps_s = inside * at.inside.seconds(n) + (rounds - inside) * at.per_node * at.outside.seconds(n)
    return swaps_s + 2 * folding_seconds(at, surplus, n) + (rounds + (surplus > 0)) * n * at.add_s_per_byte
