"""Collectives with partners 1, 2, 4, … ranks away: recursive doubling, halving-doubling (Rabenseifner), barrier.

The two all-reduces need a power of two of ranks. So the ranks left over hand their numbers in first (`fold`) and get
the sum last (`unfold`).
"""

from __future__ import annotations

from functools import partial

import numpy as np
import torch
from numpy.typing import ArrayLike

from course_lib.collectives.buffers import begin, combine, exchange, finish, powers_of_two
from course_lib.collectives.cost import Cost, Levels, check_size, levels, log2_ceil
from course_lib.comm import Communicator, Network
from course_lib.comm.collective import collective


def core_size(world_size: int) -> int:
    """The largest power of two that is not above `world_size`.

    >>> [core_size(p) for p in (1, 2, 3, 8, 9)]
    [1, 2, 2, 8, 8]
    """
    return 1 << (world_size.bit_length() - 1)


def fold(comm: Communicator, flat: torch.Tensor, incoming: torch.Tensor, op: str) -> int:
    """Let each rank beyond the core hand its numbers to one inside; returns the core's size."""
    core = core_size(comm.world_size)
    if comm.rank >= core:
        comm.send(flat, comm.rank - core)
    elif comm.rank + core < comm.world_size:
        comm.recv(incoming, comm.rank + core)
        combine(op, flat, incoming, comm)
    return core


def unfold(comm: Communicator, flat: torch.Tensor) -> None:
    """Give the ranks outside the core the result."""
    core = core_size(comm.world_size)
    if comm.rank >= core:
        comm.recv(flat, comm.rank - core)
    elif comm.rank + core < comm.world_size:
        comm.send(flat, comm.rank + core)


def folding_seconds(at: Levels, surplus: ArrayLike, message_bytes: ArrayLike) -> ArrayLike:
    """Time in which `surplus` ranks hand in n bytes each, or get them: those of one node share its port."""
    through_one_port = np.where(np.greater(at.nodes, 1), np.minimum(surplus, at.per_node), np.minimum(surplus, 1))
    return through_one_port * at.slowest_seconds(message_bytes)


def rounds_inside(at: Levels, world_size: ArrayLike) -> ArrayLike:
    """In how many rounds, the first ones, each rank's partner (1, 2, 4, ... away) is always in its own node.

    As often as 2 divides the ranks of a node; in all rounds where there is only one node.
    """
    ranks = np.asarray(at.per_node).astype(np.int64)
    rounds = np.floor(np.log2(world_size))
    return np.where(np.greater(at.nodes, 1), np.minimum(np.log2(ranks & -ranks), rounds), rounds)


# --- All-reduce by recursive doubling: in step k swap everything with the rank 2^k away, and add.
#
# step 1   0 ⇄ 1   2 ⇄ 3   4 ⇄ 5   6 ⇄ 7      sums of 2 ranks
# step 2   0 ⇄ 2   1 ⇄ 3   4 ⇄ 6   5 ⇄ 7      sums of 4
# step 3   0 ⇄ 4   1 ⇄ 5   2 ⇄ 6   3 ⇄ 7      sums of 8


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


# --- All-reduce by halving and doubling (Rabenseifner): swap halves, then quarters, ...; then the same way back.
#
#     rank 0  ▮▮▮▮ → ▮▮·· → ▮···  |  ▮··· → ▮▮·· → ▮▮▮▮
#     rank 1  ▮▮▮▮ → ··▮▮ → ··▮·  |  ··▮· → ··▮▮ → ▮▮▮▮
#     rank 2  ▮▮▮▮ → ▮▮·· → ·▮··  |  ·▮·· → ▮▮·· → ▮▮▮▮
#     rank 3  ▮▮▮▮ → ··▮▮ → ···▮  |  ···▮ → ··▮▮ → ▮▮▮▮
#              halving: add what          doubling: put back
#              the partner gives          what was given away
#
# The largest pieces go to the nearest partner. So on nodes of g ranks only 1/g of the tensor of each rank leaves the
# node: the algorithm is hierarchical by itself.


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


# --- Barrier: nobody leaves before everybody has come. In round k each rank tells the one 2^k to its right.


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
