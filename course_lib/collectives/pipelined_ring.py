"""All-reduce round a ring in segments: while one segment is added, the next is on the wire.

plain ring       ▕ transfer ▏ add ▕ transfer ▏ add ▕ ...          the wire rests while the rank adds

in segments      ▕ transfer 0 ▏ transfer 1 ▏ transfer 2 ▏ ...     the wire never rests
                              ▏ add 0      ▏ add 1      ▏ ...
"""

from __future__ import annotations

from collections import deque
from functools import partial
from itertools import islice

import numpy as np
import torch
from numpy.typing import ArrayLike

from course_lib.checks import at_least
from course_lib.collectives._reduce import begin, combine, finish, split
from course_lib.collectives.cost import Cost, chunk_bytes, levels
from course_lib.collectives.ring import all_gather_steps, reduce_scatter_steps, ring_all_reduce_cost
from course_lib.comm import Communicator, Network, Work
from course_lib.comm.collective import collective

__all__ = ["pipelined_ring_all_reduce", "pipelined_ring_all_reduce_cost", "pipelined_ring_all_reduce_seconds"]

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
