"""What a collective costs: steps, messages and bytes, counted exactly, and seconds by formula.

The formulas speak the language of the literature: n bytes, p ranks, α seconds before the first byte of a message,
β seconds for each byte, γ seconds to add a byte. `link.seconds(n)` is α + nβ.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from course_lib.checks import at_least
from course_lib.comm import Link, Network


@dataclass(frozen=True)
class Cost:
    """What one collective costs.

    Attributes:
        steps: length of the longest chain of messages that must wait for each other.
        messages: messages of all ranks together.
        bytes_sent: bytes that each rank sends.
    """

    steps: int
    messages: int
    bytes_sent: tuple[int, ...]
    formula: Callable[[Network], float] = field(repr=False, compare=False)

    @property
    def total_bytes(self) -> int:
        """Bytes of all ranks together."""
        return sum(self.bytes_sent)

    def seconds(self, network: Network) -> float:
        """Time by the formula, if all ranks and links of a kind are equally fast (no stragglers, no jitter)."""
        return float(self.formula(network))


def check_size(message_bytes: int, world_size: int, element_bytes: int) -> None:
    """Raise ValueError unless a message of this size can lie on every one of these ranks."""
    at_least(1, world_size=world_size)
    if message_bytes < 0 or message_bytes % element_bytes:
        raise ValueError(f"message_bytes must be a multiple of element_bytes={element_bytes}, got {message_bytes}")


def chunk_bytes(message_bytes: int, parts: int, element_bytes: int = 4) -> list[int]:
    """Bytes of each chunk that `torch.tensor_split` cuts: the first ones get the elements left over.

    >>> chunk_bytes(40, 4)
    [12, 12, 8, 8]
    """
    check_size(message_bytes, parts, element_bytes)
    length, longer = divmod(message_bytes // element_bytes, parts)
    return [(length + (part < longer)) * element_bytes for part in range(parts)]


class Levels(NamedTuple):
    """A network as the formulas see it: nodes of `per_node` ranks, links inside and outside, time to add.

    Where a network has no nodes every rank is a node of its own.
    """

    per_node: ArrayLike
    nodes: ArrayLike
    inside: Link
    outside: Link
    add_s_per_byte: float

    def slowest_seconds(self, message_bytes: ArrayLike) -> ArrayLike:
        """Time of a step in which some ranks send to their own node and some to others: its slowest message."""
        return np.where(
            np.greater(self.nodes, 1), self.outside.seconds(message_bytes), self.inside.seconds(message_bytes)
        )


def levels(network: Network, world_size: ArrayLike, ranks_per_node: int | None = None) -> Levels:
    """The two levels of a network for `world_size` ranks (a number or an array), seen in nodes of `ranks_per_node`."""
    inside = Link(network.latency_s, network.bytes_per_s)
    outside = network.outside or inside
    per_node = np.minimum(ranks_per_node or network.ranks_per_node or 1, world_size)
    return Levels(per_node, np.ceil(world_size / per_node), inside, outside, network.reduce_s_per_byte)


def log2_ceil(number: ArrayLike) -> ArrayLike:
    """How often 1 must be doubled to reach `number`.

    >>> [int(log2_ceil(p)) for p in (1, 2, 3, 4, 1024)]
    [0, 1, 2, 2, 10]
    """
    return np.ceil(np.log2(number))
