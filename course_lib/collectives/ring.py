"""Ring collectives: all-reduce, the same in segments, reduce-scatter and all-gather, each rank sending to its right.

      chunk 0   1   2                  chunk 0   1   2                  chunk 0   1   2
    rank 0  a0  a1  a2     first       rank 0  ABC .   .      second       rank 0  ABC ABC ABC
    rank 1  b0  b1  b2     circle      rank 1  .   ABC .      circle       rank 1  ABC ABC ABC
    rank 2  c0  c1  c2   (p-1 steps)   rank 2  .   .   ABC  (p-1 steps)    rank 2  ABC ABC ABC

In the first circle (reduce-scatter) the receiver adds what arrives, in the second (all-gather) it keeps it as it is.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import cycle, islice
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import ArrayLike

from course_lib.checks import at_least
from course_lib.collectives.buffers import (
    begin,
    combine,
    exchange,
    finish,
    flatten,
    flatten_chunks,
    inboxes,
    keep,
    split,
)
from course_lib.collectives.cost import Cost, chunk_bytes, levels
from course_lib.comm import Communicator, Network, Work
from course_lib.comm.collective import collective


class Send(NamedTuple):
    """One message of a plan: rank `src` sends chunk number `chunk` to rank `dst`."""

    src: int
    dst: int
    chunk: int


def reduce_scatter_steps(rank: int, world_size: int) -> Iterator[tuple[int, int]]:
    """Yield for each step of the first circle the chunk that `rank` sends and the one that it receives and adds.

    A rank passes on what it has just added to. Chunk c starts at rank c + 1, meets every rank, and ends at rank c.

    >>> list(reduce_scatter_steps(0, world_size=4))
    [(3, 2), (2, 1), (1, 0)]
    """
    for step in range(1, world_size):
        yield (rank - step) % world_size, (rank - step - 1) % world_size


def all_gather_steps(rank: int, world_size: int) -> Iterator[tuple[int, int]]:
    """Yield for each step of the second circle the chunk that `rank` sends and the one that it receives and keeps.

    >>> list(all_gather_steps(0, world_size=4))
    [(0, 3), (3, 2), (2, 1)]
    """
    for step in range(world_size - 1):
        yield (rank - step) % world_size, (rank - step - 1) % world_size


def ring_steps(world_size: int) -> list[list[Send]]:
    """All sends of each of the 2(p - 1) steps: the plan as data.

    >>> for step in ring_steps(2):
    ...     print(*step)
    Send(src=0, dst=1, chunk=1) Send(src=1, dst=0, chunk=0)
    Send(src=0, dst=1, chunk=0) Send(src=1, dst=0, chunk=1)
    """
    plans = [[*reduce_scatter_steps(r, world_size), *all_gather_steps(r, world_size)] for r in range(world_size)]
    return [
        [Send(rank, (rank + 1) % world_size, chunk) for rank, (chunk, _) in enumerate(step)]
        for step in zip(*plans, strict=True)
    ]


@collective
def ring_all_reduce(comm: Communicator, tensor: torch.Tensor, op: str = "sum") -> None:
    """Leave on every rank the sum of all ranks' tensors, passing chunks round a ring.

    Cost: 2(p - 1) steps; every rank sends 2n(p - 1)/p bytes: no all-reduce spares its busiest rank more.
    Source: Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms", JPDC 69(2), 2009.
    """
    flat = begin(tensor, op, comm)
    chunks = split(flat, comm.world_size)
    incoming = inboxes(chunks)
    right, left = (comm.rank + 1) % comm.world_size, (comm.rank - 1) % comm.world_size
    for outgoing, arriving in reduce_scatter_steps(comm.rank, comm.world_size):
        sent = comm.isend(chunks[outgoing], right)
        comm.recv(incoming[arriving], left)
        sent.wait()
        combine(op, chunks[arriving], incoming[arriving], comm)
    for outgoing, arriving in all_gather_steps(comm.rank, comm.world_size):
        sent = comm.isend(chunks[outgoing], right)
        comm.recv(chunks[arriving], left)
        sent.wait()
    finish(op, flat, comm)


def ring_all_reduce_cost(message_bytes: int, *, world_size: int, element_bytes: int = 4) -> Cost:
    """Counts of `ring_all_reduce`, exact for chunks of unequal length too.

    >>> ring_all_reduce_cost(400, world_size=4)
    Cost(steps=6, messages=24, bytes_sent=(600, 600, 600, 600))
    """
    p, chunks = world_size, chunk_bytes(message_bytes, world_size, element_bytes)
    return Cost(
        steps=2 * (p - 1),
        messages=2 * (p - 1) * p,
        bytes_sent=tuple(2 * message_bytes - chunks[r] - chunks[(r + 1) % p] for r in range(p)) if p > 1 else (0,),
        formula=partial(ring_all_reduce_seconds, message_bytes, world_size),
    )


def ring_all_reduce_seconds(message_bytes: ArrayLike, world_size: ArrayLike, network: Network) -> ArrayLike:
    """Time of `ring_all_reduce`: 2(p - 1)(α + n/p β) + (p - 1) n/p γ.

    Exact for every p that divides the number of elements; otherwise each step may carry up to one element more. Between
    nodes each step waits for the one message that leaves the node, so the link outside counts; additions then hide
    partly behind it.

    Source: Patarasuk and Yuan, JPDC 69(2), 2009.
    """
    n = message_bytes
    p = world_size
    at = levels(network, world_size)
    return 2 * (p - 1) * at.slowest_seconds(n / p) + (p - 1) * n / p * at.add_s_per_byte


# --- All-reduce round a ring in segments: while one segment is added, the next is on the wire.
#
# plain ring       ▕ transfer ▏ add ▕ transfer ▏ add ▕ ...          the wire rests while the rank adds
#
# in segments      ▕ transfer 0 ▏ transfer 1 ▏ transfer 2 ▏ ...     the wire never rests
#                               ▏ add 0      ▏ add 1      ▏ ...


SEGMENT_BYTES = 4 << 20
LOOK_AHEAD = 4


@collective
def pipelined_ring_all_reduce(
    comm: Communicator,
    tensor: torch.Tensor,
    op: str = "sum",
    segment_bytes: int = SEGMENT_BYTES,
    look_ahead: int = LOOK_AHEAD,
) -> None:
    """Leave on every rank the sum of all ranks' tensors, by a ring whose additions hide behind its transfers.

    A segment is sent as soon as it is added, so a chunk needs at least two: one on the wire, one in the adder. Where
    a chunk has more, up to `look_ahead` are under way at a time, so that a rank that comes late finds the next waiting.

    Cost: bytes as `ring_all_reduce`, in K segments a chunk: 2(p - 1)K messages from every rank.
    """
    flat = begin(tensor, op, comm)
    rank, world_size = comm.rank, comm.world_size
    chunks = split(flat, world_size)
    count, ahead = _segments(chunks[0].nbytes, segment_bytes, look_ahead)
    segments = [split(chunk, count) for chunk in chunks]
    spare = [torch.empty_like(segments[0][0]) for _ in range(ahead)]
    steps = [*reduce_scatter_steps(rank, world_size), *all_gather_steps(rank, world_size)]
    plan = [(segments[out][k], segments[arriving][k]) for out, arriving in steps for k in range(count)]
    to_add = len(plan) // 2

    def start(number: int) -> tuple[Work, Work, torch.Tensor]:
        outgoing, place = plan[number]
        incoming = spare[number % ahead][: place.numel()] if number < to_add else place
        return comm.isend(outgoing, (rank + 1) % world_size), comm.irecv(incoming, (rank - 1) % world_size), incoming

    starts = map(start, range(len(plan)))  # each when it is asked for
    under_way = deque(islice(starts, ahead - 1))
    for number, (_, place) in enumerate(plan):
        under_way.extend(islice(starts, 1))  # the next segments travel while this one is added
        sent, received, incoming = under_way.popleft()
        received.wait()
        if number < to_add:
            combine(op, place, incoming, comm)
        sent.wait()
    finish(op, flat, comm)


def _segments(longest_chunk_bytes: int, segment_bytes: int, look_ahead: int) -> tuple[int, int]:
    """How many segments to cut each chunk into (at least two), and how many of them are under way at a time."""
    at_least(1, segment_bytes=segment_bytes)
    if look_ahead < 2:
        raise ValueError(f"look_ahead must be at least 2, one on the wire and one in the adder, got {look_ahead}")
    count = max(2, -(-longest_chunk_bytes // segment_bytes))
    return count, min(look_ahead, count)  # a segment is sent on one chunk later: no earlier is it added


def pipelined_ring_all_reduce_cost(
    message_bytes: int,
    *,
    world_size: int,
    element_bytes: int = 4,
    segment_bytes: int = SEGMENT_BYTES,
    look_ahead: int = LOOK_AHEAD,
) -> Cost:
    """Counts of `pipelined_ring_all_reduce`. The segments that are under way at a time make one step.

    >>> pipelined_ring_all_reduce_cost(400, world_size=4, segment_bytes=40, look_ahead=2)
    Cost(steps=9, messages=72, bytes_sent=(600, 600, 600, 600))
    """
    plain = ring_all_reduce_cost(message_bytes, world_size=world_size, element_bytes=element_bytes)
    longest_chunk_bytes = chunk_bytes(message_bytes, world_size, element_bytes)[0]
    count, ahead = _segments(longest_chunk_bytes, segment_bytes, look_ahead)
    return Cost(
        steps=-(-plain.steps * count // ahead),
        messages=plain.messages * count,
        bytes_sent=plain.bytes_sent,
        formula=partial(
            pipelined_ring_all_reduce_seconds,
            message_bytes,
            world_size,
            segment_bytes=segment_bytes,
            look_ahead=look_ahead,
        ),
    )


def pipelined_ring_all_reduce_seconds(
    message_bytes: ArrayLike,
    world_size: ArrayLike,
    network: Network,
    segment_bytes: int = SEGMENT_BYTES,
    look_ahead: int = LOOK_AHEAD,
) -> ArrayLike:
    """Time of `pipelined_ring_all_reduce`: 2(p - 1)(Kα + n/p β), K segments a chunk; nothing for hidden additions.

    Where a segment is added more slowly than it is sent, adding sets the pace of the first circle; what is under way
    when it ends is already a part of the second. Exact for every p for which p·K divides the number of elements;
    otherwise each segment may carry up to one element more.
    """
    n = message_bytes
    p = world_size
    at = levels(network, world_size)
    count = np.maximum(2, np.ceil(n / p / segment_bytes))
    circle, ahead = (p - 1) * count, np.minimum(look_ahead, count)
    send_s, add_s = at.slowest_seconds(n / p / count), n / p / count * at.add_s_per_byte
    return np.maximum(2 * circle * send_s, circle * (send_s + add_s) - (ahead - 2) * send_s)


# --- Reduce-scatter round a ring: rank r gets the sum of all ranks' chunk r. The first circle of the ring all-reduce.


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


# --- All-gather round a ring: every rank gets the tensors of all. The second circle of the ring all-reduce.


@collective
def all_gather(comm: Communicator, chunks: Sequence[torch.Tensor], tensor: torch.Tensor) -> None:
    """Leave in every rank's `chunks` the `tensor` of each rank.

    Cost: p - 1 steps; every rank sends p - 1 chunks.
    Source: Thakur, Rabenseifner and Gropp, IJHPCA 19(1), 2005, on all-gather (ring).
    """
    flats = flatten_chunks(comm, chunks)
    right, left = (comm.rank + 1) % comm.world_size, (comm.rank - 1) % comm.world_size
    keep(flats[comm.rank], flatten(tensor))
    for outgoing, arriving in all_gather_steps(comm.rank, comm.world_size):
        exchange(comm, flats[outgoing], right, flats[arriving], left)


def all_gather_cost(message_bytes: int, *, world_size: int, element_bytes: int = 4) -> Cost:
    """Counts of `all_gather` of `message_bytes` in all, held in chunks as `tensor_split` cuts them.

    >>> all_gather_cost(400, world_size=4)
    Cost(steps=3, messages=12, bytes_sent=(300, 300, 300, 300))
    """
    p, chunks = world_size, chunk_bytes(message_bytes, world_size, element_bytes)
    return Cost(
        steps=p - 1,
        messages=p * (p - 1),
        bytes_sent=tuple(message_bytes - chunks[(rank + 1) % p] for rank in range(p)),
        formula=partial(all_gather_seconds, message_bytes, world_size),
    )


def all_gather_seconds(message_bytes: ArrayLike, world_size: ArrayLike, network: Network) -> ArrayLike:
    """Time of `all_gather`: (p - 1)(α + n/p β), n bytes in all.

    Exact for every p that divides the number of elements; otherwise each step may carry up to one element more.
    """
    n = message_bytes
    p = world_size
    at = levels(network, world_size)
    return (p - 1) * at.slowest_seconds(n / p)
