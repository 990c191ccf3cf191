"""Collectives whose messages go straight from their sender to their receiver, and are passed on by nobody.

All-reduce each with each, all-reduce through one rank, scatter, gather and all-to-all.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import torch
from numpy.typing import ArrayLike

from course_lib.collectives.buffers import begin, check_rank, combine, exchange, finish, flatten, flatten_chunks, keep
from course_lib.collectives.cost import Cost, check_size, chunk_bytes, levels
from course_lib.comm import Communicator, Network
from course_lib.comm.collective import collective

# --- All-reduce each with each: everybody sends everything to everybody, all at once, first to the right neighbor.
#
# 0 ⇄ 1        One step, p(p - 1) messages. Every port carries the
# ⇅ ⤬ ⇅        whole tensor p - 1 times, and every rank needs room
# 2 ⇄ 3        for p - 1 tensors.


@collective
def direct_all_reduce(comm: Communicator, tensor: torch.Tensor, op: str = "sum") -> None:
    """Leave on every rank the sum of all ranks' tensors, each sending its own to each other.

    All ranks add in the same order, so all get the same bits. Each sends first to its right neighbor, then to the one
    after that: so in each turn every port carries a message. (If all sent to rank 0 first, its port would be a queue.)

    Cost: 1 step; every rank sends n(p - 1) bytes.
    """
    flat = begin(tensor, op, comm)
    copies = [flat.clone() if rank == comm.rank else torch.empty_like(flat) for rank in range(comm.world_size)]
    works = []
    for turn in range(1, comm.world_size):
        right, left = (comm.rank + turn) % comm.world_size, (comm.rank - turn) % comm.world_size
        works += [comm.irecv(copies[left], left), comm.isend(copies[comm.rank], right)]
    for work in works:
        work.wait()
    if not flat.is_meta:
        flat.copy_(copies[0])
    for copy in copies[1:]:
        combine(op, flat, copy, comm)
    finish(op, flat, comm)


def direct_all_reduce_cost(message_bytes: int, *, world_size: int, element_bytes: int = 4) -> Cost:
    """Counts of `direct_all_reduce`.

    >>> direct_all_reduce_cost(400, world_size=4)
    Cost(steps=1, messages=12, bytes_sent=(1200, 1200, 1200, 1200))
    """
    check_size(message_bytes, world_size, element_bytes)
    return Cost(
        steps=min(1, world_size - 1),
        messages=world_size * (world_size - 1),
        bytes_sent=(message_bytes * (world_size - 1),) * world_size,
        formula=partial(direct_all_reduce_seconds, message_bytes, world_size),
    )


def direct_all_reduce_seconds(message_bytes: ArrayLike, world_size: ArrayLike, network: Network) -> ArrayLike:
    """Time of `direct_all_reduce`: (p - 1)(α + nβ) + (p - 1) n γ, for each port carries p - 1 messages, one at a time.

    Exact for every p on equal links. Between nodes, g ranks share one port that must carry g(p - g) messages: it takes
    at least so long, and this is up to a tenth too high, for messages inside the node travel meanwhile.
    """
    n = message_bytes
    p = world_size
    at = levels(network, world_size)
    turns_inside, turns_outside = at.per_node - 1, at.per_node * (p - at.per_node)
    transfer_s = turns_inside * at.inside.seconds(n) + turns_outside * at.outside.seconds(n)
    return transfer_s + (p - 1) * n * at.add_s_per_byte


# --- All-reduce through one rank: it collects everything, adds, and gives everybody the sum.
#
# 1  2  3        1  2  3
#  ╲ │ ╱    →     ╲ │ ╱        The center's port carries everything,
#    0              0          the others' ports next to nothing.


@collective
def central_all_reduce(comm: Communicator, tensor: torch.Tensor, op: str = "sum") -> None:
    """Leave on every rank the sum of all ranks' tensors, added up by rank 0.

    Cost: 2 steps; rank 0 receives and sends n(p - 1) bytes (and needs room for them), every other rank n.
    """
    flat, center = begin(tensor, op, comm), 0
    if comm.rank != center:
        comm.send(flat, center)
        comm.recv(flat, center)
        return
    copies = {rank: torch.empty_like(flat) for rank in range(1, comm.world_size)}
    for work in [comm.irecv(copy, rank) for rank, copy in copies.items()]:
        work.wait()
    for copy in copies.values():
        combine(op, flat, copy, comm)
    finish(op, flat, comm)
    for work in [comm.isend(flat, rank) for rank in copies]:
        work.wait()


def central_all_reduce_cost(message_bytes: int, *, world_size: int, element_bytes: int = 4) -> Cost:
    """Counts of `central_all_reduce`.

    >>> central_all_reduce_cost(400, world_size=4)
    Cost(steps=2, messages=6, bytes_sent=(1200, 400, 400, 400))
    """
    check_size(message_bytes, world_size, element_bytes)
    others = world_size - 1
    return Cost(
        steps=min(2, 2 * others),
        messages=2 * others,
        bytes_sent=(message_bytes * others, *(message_bytes,) * others),
        formula=partial(central_all_reduce_seconds, message_bytes, world_size),
    )


def central_all_reduce_seconds(message_bytes: ArrayLike, world_size: ArrayLike, network: Network) -> ArrayLike:
    """Time of `central_all_reduce`: 2(p - 1)(α + nβ) + (p - 1) n γ, for the center's port carries all messages in turn.

    Exact for every p; with nodes too, where the messages from the center's own node are the faster ones.
    """
    n = message_bytes
    p = world_size
    at = levels(network, world_size)
    one_way_s = (at.per_node - 1) * at.inside.seconds(n) + (p - at.per_node) * at.outside.seconds(n)
    return 2 * one_way_s + (p - 1) * n * at.add_s_per_byte


# --- Scatter: one rank gives every rank its chunk.


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


# --- Gather: one rank gets the tensors of all; scatter run backward.


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


# --- All-to-all: every rank has a chunk for every rank. In turn k everybody sends k places to the right.


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
