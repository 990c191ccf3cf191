"""The network model, what a message costs: links, ports, nodes, stragglers. Simulator and emulator both use it."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from numbers import Integral
from typing import Any

from course_lib.checks import positive

_KEYS = {"stragglers": "a rank each, a whole number", "slow_links": "a pair of ranks each, (src, dst)"}


@dataclass(frozen=True)
class Link:
    """One kind of link: seconds before the first byte, bytes per second after it, and who says so.

    >>> Link(latency_s=1e-3, bytes_per_s=1e6).seconds(1000)
    0.002
    """

    latency_s: float
    bytes_per_s: float
    source: str = ""

    def __post_init__(self) -> None:
        if not (math.isfinite(self.latency_s) and self.latency_s >= 0):
            raise ValueError(f"latency_s must be a number of seconds, 0 or more, got {self.latency_s}")
        positive(bytes_per_s=self.bytes_per_s)

    def seconds(self, message_bytes: float) -> float:
        """Time of one message on an idle link: latency_s + message_bytes / bytes_per_s (Hockney 1994)."""
        return self.latency_s + message_bytes / self.bytes_per_s


@dataclass(frozen=True)
class Network:
    """How long messages take between ranks, and which of them share a port.

    A message keeps its sender's outgoing port and its receiver's incoming port busy for all of
    latency_s + bytes / bytes_per_s; a port carries one message at a time. With `ranks_per_node`, a message
    between nodes uses the link `outside` and also keeps the one outgoing port of its node and the one incoming
    port of the other node busy.

    Args:
        stragglers: rank -> how many times slower it computes, sends and receives.
        slow_links: (src, dst) -> how many times slower that direction of that link is.
        jitter: a message takes up to so much longer, as a share of its time: the size of a normal deviate (drawn from
            `seed`) times this. So it is 0.8 × jitter longer on average, with a standard deviation of 0.6 × jitter.
        reduce_s_per_byte: time to add one received byte (the gamma of the literature).

    Source: R. Hockney, "The communication challenge for MPP", Parallel Computing 20(3), 1994 (latency and bandwidth).

    >>> Network(latency_s=0.5, bytes_per_s=1e6).seconds(src=0, dst=1, message_bytes=1_000_000)
    1.5
    """

    latency_s: float = 0.0
    bytes_per_s: float = math.inf
    ranks_per_node: int | None = None
    outside: Link | None = None
    stragglers: Mapping[int, float] = field(default_factory=dict)
    slow_links: Mapping[tuple[int, int], float] = field(default_factory=dict)
    jitter: float = 0.0
    seed: int = 0
    reduce_s_per_byte: float = 0.0

    def __post_init__(self) -> None:
        Link(self.latency_s, self.bytes_per_s)  # the same rules
        if (self.ranks_per_node is None) != (self.outside is None):
            raise ValueError("ranks_per_node and outside belong together: give both or neither")
        if self.ranks_per_node is not None and not (_is_rank(self.ranks_per_node) and self.ranks_per_node >= 1):
            raise ValueError(f"ranks_per_node must be a whole number, at least 1, got {self.ranks_per_node!r}")
        for name, ranks_of in (("stragglers", lambda key: (key,)), ("slow_links", _ends)):
            factors = dict(getattr(self, name))  # our own: a network never changes
            for key, factor in factors.items():
                if not all(_is_rank(rank) for rank in ranks_of(key)):
                    raise ValueError(f"{name} are given by {_KEYS[name]}, got {key!r}")
                if not (factor > 0 and math.isfinite(factor)):
                    raise ValueError(f"{name}[{key}] must be more than 0, got {factor}")
            object.__setattr__(self, name, factors)
        if not (0 <= self.jitter < math.inf and 0 <= self.reduce_s_per_byte < math.inf):
            raise ValueError(
                f"jitter and reduce_s_per_byte must be 0 or more, got {self.jitter} and {self.reduce_s_per_byte}"
            )

    def __hash__(self) -> int:
        values = [getattr(self, one.name) for one in fields(self)]
        return hash(tuple(frozenset(value.items()) if isinstance(value, dict) else value for value in values))

    def check_ranks(self, world_size: int) -> None:
        """Raise ValueError if a straggler or an end of a slow link is none of `world_size` ranks."""
        for name, named in (("stragglers", self.stragglers), ("slow_links", itertools.chain(*self.slow_links))):
            if strangers := [rank for rank in named if rank >= world_size]:
                rule = f"{name} must be ranks from 0 to {world_size - 1}"
                raise ValueError(f"{rule}, the network names rank {strangers[0]}")

    @classmethod
    def over(cls, link: Link, **more: Any) -> Network:
        """The network in which every pair of ranks is joined by `link`."""
        return cls(latency_s=link.latency_s, bytes_per_s=link.bytes_per_s, **more)

    @property
    def plain(self) -> bool:
        """True if every message of one size takes the same time, whoever sends it."""
        return not (self.ranks_per_node or self.stragglers or self.slow_links or self.jitter)

    def crosses_nodes(self, src: int, dst: int) -> bool:
        """True if a message from src to dst leaves its node."""
        return self.ranks_per_node is not None and src // self.ranks_per_node != dst // self.ranks_per_node

    def seconds(self, src: int, dst: int, message_bytes: float, nth: int = 0) -> float:
        """Time on the wire of the `nth` message from src to dst, once its ports are free."""
        if self.outside is not None and self.crosses_nodes(src, dst):
            base = self.outside.seconds(message_bytes)
        else:
            base = self.latency_s + message_bytes / self.bytes_per_s
        return base * self._factor(src, dst, nth)

    def _factor(self, src: int, dst: int, nth: int) -> float:
        slowest_end = max(self.stragglers.get(src, 1.0), self.stragglers.get(dst, 1.0))
        factor = slowest_end * self.slow_links.get((src, dst), 1.0)
        if self.jitter:
            noise = random.Random(f"{self.seed} {src} {dst} {nth}").gauss(0.0, 1.0)
            factor *= 1.0 + self.jitter * abs(noise)
        return factor

    def compute_seconds(self, rank: int, seconds: float) -> float:
        """How long a rank needs for what a rank at full speed does in `seconds`."""
        return seconds * self.stragglers.get(rank, 1.0)

    def ports(self, src: int, dst: int, world_size: int) -> tuple[int, ...]:
        """Numbers of the ports that a message occupies: ranks out, ranks in, nodes out, nodes in.

        >>> Network().ports(0, 3, world_size=4)
        (0, 7)
        >>> Network(ranks_per_node=2, outside=Link(0, 1)).ports(0, 3, world_size=4)
        (0, 7, 8, 13)
        """
        if not self.crosses_nodes(src, dst):
            return src, world_size + dst
        per_node = self.ranks_per_node or 1
        return src, world_size + dst, 2 * world_size + src // per_node, 3 * world_size + dst // per_node


def _is_rank(rank: object) -> bool:
    return isinstance(rank, (int, Integral)) and type(rank) is not bool and int(rank) >= 0


def _ends(link: object) -> tuple[Any, ...]:
    """The two ranks of a link; something that is no rank where it is no pair."""
    return link if isinstance(link, tuple) and len(link) == 2 else (None,)
