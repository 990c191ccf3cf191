"""Rules of chapter 2: what each algorithm may send, to whom, and in how many steps."""

from __future__ import annotations

import math

from course_lib.comm.trace import Trace
from course_lib.grading import rules
from course_lib.grading.exercise import Case, Rule

__all__ = [
    "bytes_between_nodes",
    "doubling_bytes",
    "each_with_each",
    "everybody_swaps",
    "few_per_port",
    "leftover",
    "right_neighbor",
    "ring_rules",
    "rounds",
]


def right_neighbor(rank: int, size: int) -> set[int]:
    return {(rank + 1) % size}


def _circle_bytes(case: Case) -> int:
    """What a rank sends in one circle at most: world_size - 1 of the larger chunks."""
    return (case.world_size - 1) * -(-case.tensor.numel() // case.world_size) * 4


def ring_rules(circles: int) -> tuple[Rule, ...]:
    return (
        rules.neighbors(right_neighbor, "its right neighbor"),
        rules.bytes_per_rank(
            lambda case: circles * _circle_bytes(case), "a step passes on one chunk, not the whole tensor"
        ),
        rules.most_steps(
            lambda case: 3 * circles * (case.world_size - 1),
            "your ranks wait for each other in a chain; let every rank send and receive at the same time (isend)",
            costs=1,
        ),
    )


def each_with_each(case: Case, trace: Trace) -> str | None:
    """Every rank sends its whole tensor to every other rank, once."""
    for src, row in enumerate(trace.link_bytes):
        for dst, sent in enumerate(row):
            if src != dst and sent != case.message_bytes:
                return (
                    f"rank {src} sent {sent} bytes to rank {dst}; each with each means that its whole tensor of "
                    f"{case.message_bytes} bytes goes there, once and directly"
                )
    return None


def _depth(case: Case) -> int:
    return max(0, math.ceil(math.log2(case.world_size)))


def few_per_port(case: Case, trace: Trace) -> str | None:
    """No rank takes in, or hands out, more tensors than a tree has levels."""
    most = _depth(case) * case.message_bytes
    for verb, counts in (("received", trace.bytes_received), ("sent", trace.bytes_sent)):
        for rank, count in enumerate(counts):
            if count > most:
                return (
                    f"rank {rank} {verb} {count} bytes: that is a star with rank {rank} in the middle. In a tree over "
                    f"{case.world_size} ranks nobody {verb} more than {most}"
                )
    return None


def rounds(case: Case) -> int:
    """Rounds of doubling among the largest power of two of ranks."""
    return case.world_size.bit_length() - 1


def leftover(case: Case) -> int:
    return case.world_size - 2 ** rounds(case)


def doubling_bytes(case: Case) -> int:
    return (rounds(case) * 2 ** rounds(case) + 2 * leftover(case)) * case.message_bytes


def everybody_swaps(case: Case, trace: Trace) -> str | None:
    """Among a power of two of ranks nobody is idle in any round."""
    if leftover(case):
        return None
    for rank, sent in enumerate(trace.bytes_sent):
        if sent != rounds(case) * case.message_bytes:
            return (
                f"rank {rank} sent {sent} bytes; in recursive doubling every rank swaps its whole tensor in every one "
                f"of the {rounds(case)} rounds, {rounds(case) * case.message_bytes} bytes in all"
            )
    return None


def bytes_between_nodes(case: Case, trace: Trace) -> str | None:
    """All nodes together send no more than 2(nodes - 1) tensors to each other (and a chunk's rounding)."""
    per_node = case.about["ranks_per_node"]
    nodes = case.world_size // per_node
    limit = 2 * (nodes - 1) * (case.message_bytes + 4 * case.world_size)
    crossing = [m for m in trace.messages if m.src // per_node != m.dst // per_node]
    crossed = sum(m.message_bytes for m in crossing)
    if crossed <= limit:
        return None
    one = crossing[0]
    return (
        f"{crossed} bytes crossed from node to node, {2 * (nodes - 1) * case.message_bytes} are enough for {nodes} "
        f"nodes. (The first: rank {one.src} on node {one.src // per_node} sent to rank {one.dst} on node "
        f"{one.dst // per_node}.) Add up inside each node first, so that each node speaks with one voice"
    )
