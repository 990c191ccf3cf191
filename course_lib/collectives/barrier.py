"""Barrier: nobody leaves before everybody has come. In round k each rank tells the one 2^k to its right."""

from __future__ import annotations

from functools import partial

import torch

from course_lib.collectives._reduce import exchange, powers_of_two
from course_lib.collectives.cost import Cost, check_size, log2_ceil
from course_lib.comm import Communicator, Network
from course_lib.comm.collective import collective

__all__ = ["barrier", "barrier_cost", "barrier_seconds"]


@collective
def barrier(comm: Communicator) -> None:
    """Return once every rank has called it: after round k a rank has heard, through others, from 2^(k+1) ranks.

    Cost: ⌈log₂ p⌉ steps of empty messages.
    Source: Hensgen, Finkel and Manber, "Two algorithms for barrier synchronization", IJPP 17(1), 1988.
    """
    for distance in powers_of_two(comm.world_size):
        right, left = (comm.rank + distance) % comm.world_size, (comm.rank - distance) % comm.world_size
        exchange(comm, torch.empty(0), right, torch.empty(0), left)


def barrier_cost(*, world_size: int) -> Cost:
    """Counts of `barrier`.

    >>> barrier_cost(world_size=5)
    Cost(steps=3, messages=15, bytes_sent=(0, 0, 0, 0, 0))
    """
    check_size(0, world_size, 1)
    rounds = len(powers_of_two(world_size))
    return Cost(rounds, rounds * world_size, (0,) * world_size, partial(barrier_seconds, world_size))


def barrier_seconds(world_size: int, network: Network) -> float:
    """Time of `barrier`: ⌈log₂ p⌉ α. Exact for every p on equal links.

    Between nodes the ranks of a node share its port: there it takes at least so long.
    """
    return float(log2_ceil(world_size)) * (network.outside or network).latency_s
