"""All-reduce by halving and doubling (Rabenseifner): swap halves, then quarters, ...; then the same way back.

    rank 0  ▮▮▮▮ → ▮▮·· → ▮···  |  ▮··· → ▮▮·· → ▮▮▮▮
    rank 1  ▮▮▮▮ → ··▮▮ → ··▮·  |  ··▮· → ··▮▮ → ▮▮▮▮
    rank 2  ▮▮▮▮ → ▮▮·· → ·▮··  |  ·▮·· → ▮▮·· → ▮▮▮▮
    rank 3  ▮▮▮▮ → ··▮▮ → ···▮  |  ···▮ → ··▮▮ → ▮▮▮▮
             halving: add what          doubling: put back
             the partner gives          what was given away

The largest pieces go to the nearest partner. So on nodes of g ranks only 1/g of the tensor of each rank leaves the
node: the algorithm is hierarchical by itself.
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

__all__ = ["halving_doubling_all_reduce", "halving_doubling_all_reduce_cost", "halving_doubling_all_reduce_seconds"]


@collective
def halving_doubling_all_reduce(comm: Communicator, tensor: torch.Tensor, op: str = "sum") -> None:
    """Leave on every rank the sum of all ranks' tensors, swapping ever smaller pieces, then the same way back.

    Cost: 2 log₂ p steps; every rank sends 2n(p - 1)/p bytes, as in a ring. Where p is no power of two, two more
    steps of n bytes.
    Source: Thakur, Rabenseifner and Gropp, IJHPCA 19(1), 2005, on all-reduce (Rabenseifner's algorithm).
    """
    flat = begin(tensor, op, comm)
    incoming = torch.empty_like(flat)
    core = fold(comm, flat, incoming, op)
    if comm.rank < core:
        held, swaps = flat, []
        for distance in powers_of_two(core):
            lower, upper = held.tensor_split(2)
            held, given = (upper, lower) if comm.rank & distance else (lower, upper)
            exchange(comm, given, comm.rank ^ distance, incoming[: held.numel()], comm.rank ^ distance)
            combine(op, held, incoming[: held.numel()], comm)
            swaps.append((comm.rank ^ distance, held, given))
        finish(op, held, comm)
        for partner, held, given in reversed(swaps):
            exchange(comm, held, partner, given, partner)
    unfold(comm, flat)


def halving_doubling_all_reduce_cost(message_bytes: int, *, world_size: int, element_bytes: int = 4) -> Cost:
    """Counts of `halving_doubling_all_reduce`, exact for pieces of unequal length too.

    >>> halving_doubling_all_reduce_cost(400, world_size=4)
    Cost(steps=4, messages=16, bytes_sent=(600, 600, 600, 600))
    """
    check_size(message_bytes, world_size, element_bytes)
    core = core_size(world_size)
    rounds, surplus = len(powers_of_two(core)), world_size - core
    swapped = [_swapped_bytes(message_bytes, rank, core, element_bytes) for rank in range(core)]
    given_back = [message_bytes * (rank < surplus) for rank in range(core)]
    return Cost(
        steps=2 * rounds + (2 if surplus else 0),
        messages=2 * rounds * core + 2 * surplus,
        bytes_sent=tuple(a + b for a, b in zip(swapped, given_back, strict=True)) + (message_bytes,) * surplus,
        formula=partial(halving_doubling_all_reduce_seconds, message_bytes, world_size),
    )


def _swapped_bytes(message_bytes: int, rank: int, core: int, element_bytes: int) -> int:
    """What a rank sends on its way there and back: all that it gives away, and all that it then still holds."""
    held, sent = message_bytes // element_bytes, 0
    for distance in powers_of_two(core):
        sent += held  # given away now, and the other half sent on the way back
        held = held // 2 if rank & distance else held - held // 2
    return sent * element_bytes


def halving_doubling_all_reduce_seconds(message_bytes: ArrayLike, world_size: ArrayLike, network: Network) -> ArrayLike:
    """Time of `halving_doubling_all_reduce`: 2 log₂ p α + 2n(p - 1)/p β + n(p - 1)/p γ.

    Exact for every p that (or, for ranks left over by a power of two, the power of two below it) divides the number of
    elements; otherwise each step may carry up to one element more. Ranks left over cost 2(α + nβ) + nγ more. With
    nodes of g ranks, log₂ g rounds stay inside with n(g - 1)/g bytes; outside, g messages at a time share the port
    of the node, in all n(N - 1)/N bytes for N nodes, and so do those of ranks left over. Exact then, too, where g is a
    power of two and adding takes no time (γ = 0); otherwise too high, for some ranks of a node add while others still
    send, and with another g some partners are in one node whatever the round.

    Source: Thakur, Rabenseifner and Gropp, IJHPCA 19(1), 2005, on all-reduce.
    """
    n = message_bytes
    at = levels(network, world_size)
    g = levels(network, world_size).per_node
    rounds = np.floor(np.log2(world_size))
    core, inside = 2**rounds, rounds_inside(at, world_size)
    held = n / 2**inside  # by each rank, when the first message leaves the node
    inside_s = inside * at.inside.latency_s + (n - held) / at.inside.bytes_per_s
    outside_s = g * ((rounds - inside) * at.outside.latency_s + (held - n / core) / at.outside.bytes_per_s)
    add_s = (n * (core - 1) / core + (world_size > core) * n) * at.add_s_per_byte
    return 2 * (inside_s + outside_s + folding_seconds(at, world_size - core, n)) + add_s
