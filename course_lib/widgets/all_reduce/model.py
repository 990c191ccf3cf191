"""What the all-reduce explorer knows: executions, chunk stories, formulas and maps, each computed once a setting."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch

from course_lib.collectives import ALL_REDUCE_SECONDS, ALL_REDUCES
from course_lib.comm import Link, MismatchError, Network, RankError, Report, simulate
from course_lib.draw.collectives.replays import Replay, replay
from course_lib.draw.collectives.winners import WinnerMap, winner_map
from course_lib.draw.units import one_two_five

__all__ = ["MAP_RANKS", "MAP_SIZES", "MAX_CHUNK_RANKS", "AllReduceModel", "Wires"]

MAX_CHUNK_RANKS = 16
MAP_SIZES = tuple(int(size) for size in one_two_five(1_000, 10**9))
MAP_RANKS = (2, 3, 4, 6, 8, 12, 16, 24, 32, 44)
_INSIDE = 10  # links inside a node are this many times faster than those between nodes
_SEGMENT_BYTES = 2_000_000  # the smallest segment of the algorithms that cut messages into segments
_REMEMBERED = 24  # more of them make every garbage collection slower than a picture
_REAL_BYTES = 64_000_000  # a program that cannot do without numbers gets them up to this many bytes in all


class Wires(NamedTuple):
    """The network of a setting: the links, nodes (None: no nodes) and a straggler (None: nobody)."""

    latency_s: float
    bytes_per_s: float
    ranks_per_node: int | None = None
    straggler: int | None = None
    times_slower: float = 1.0

    @property
    def network(self) -> Network:
        slow = {} if self.straggler is None else {self.straggler: self.times_slower}
        if self.ranks_per_node is None:
            return Network(self.latency_s, self.bytes_per_s, stragglers=slow)
        inside = Link(self.latency_s / _INSIDE, self.bytes_per_s * _INSIDE)
        outside = Link(self.latency_s, self.bytes_per_s)
        return Network.over(inside, ranks_per_node=self.ranks_per_node, outside=outside, stragglers=slow)


class AllReduceModel:
    """Answers about all-reduces, remembered; errors are remembered too.

    Args:
        programs: name -> function(comm, tensor).
        formulas: name -> function(message_bytes, world_size, network) giving seconds; may lack names.
    """

    def __init__(self, programs: dict[str, Callable[..., Any]], formulas: dict[str, Callable[..., Any]]) -> None:
        self.programs, self.formulas = programs, formulas
        self._memory: OrderedDict[Hashable, tuple[Any, Exception | None]] = OrderedDict()

    @classmethod
    def of_library(cls, more: dict[str, Callable[..., Any]] | None = None) -> AllReduceModel:
        """The library's algorithms after those given."""
        return cls({**(more or {}), **ALL_REDUCES}, dict(ALL_REDUCE_SECONDS))

    def report(self, algorithm: str, world_size: int, message_bytes: int, wires: Wires) -> Report:
        """One simulated all-reduce of this size."""
        key = ("report", algorithm, world_size, message_bytes, wires)
        return self._once(key, lambda: self._simulate(algorithm, world_size, message_bytes, wires))

    def story(self, algorithm: str, world_size: int, ranks_per_node: int | None) -> Replay:
        """How the chunks fill up; the same for every message size."""
        key = ("story", algorithm, world_size, ranks_per_node)
        return self._once(key, lambda: self._replay(algorithm, world_size, ranks_per_node))

    def predicted_s(self, algorithm: str, world_size: int, message_bytes: int, wires: Wires) -> float | None:
        """Seconds by the formula, which knows no straggler; None if there is no formula."""
        if algorithm not in self.formulas:
            return None
        return float(self._ask(algorithm, message_bytes, world_size, wires.network))

    def predictions(self, world_size: int, message_bytes: int, wires: Wires) -> dict[str, float]:
        """Seconds by every formula, which know no straggler."""
        network = wires.network
        return {name: float(self._ask(name, message_bytes, world_size, network)) for name in self.formulas}

    def fastest(self, world_size: int, message_bytes: int, wires: Wires) -> tuple[str, float]:
        """The algorithm that is fastest by the formulas, and its seconds; of equals the first."""
        times = self.predictions(world_size, message_bytes, wires)
        best_s = min(times.values())
        return next((name, seconds) for name, seconds in times.items() if seconds <= best_s * (1 + 1e-9))

    def winners(self, wires: Wires, world_size: int) -> WinnerMap:
        """Who is fastest by the formulas on this network, which know no straggler; this number of ranks has a row."""
        even = wires._replace(straggler=None, times_slower=1.0)
        ranks = tuple(sorted({*MAP_RANKS, world_size}))
        network = even.network
        asked = {name: lambda n, p, name=name: self._ask(name, n, p, network) for name in self.formulas}
        return self._once(("map", even, ranks), lambda: winner_map(asked, MAP_SIZES, ranks))

    def _simulate(self, algorithm: str, world_size: int, message_bytes: int, wires: Wires) -> Report:
        segments = {name: int(size) for name, size in _segments(algorithm, message_bytes, world_size).items()}
        program, network = partial(self.programs[algorithm], **segments), wires.network
        weightless = torch.empty(message_bytes // 4, device="meta")
        try:
            return simulate(program, world_size, args=(weightless,), network=network, ranks="greenlets")
        except (RankError, MismatchError):
            if message_bytes * world_size > _REAL_BYTES:
                raise
            return simulate(program, world_size, args=(torch.zeros(message_bytes // 4),), network=network)

    def _replay(self, algorithm: str, world_size: int, ranks_per_node: int | None) -> Replay:
        if world_size > MAX_CHUNK_RANKS:
            raise ValueError(f"the chunk table has room for {MAX_CHUNK_RANKS} ranks, got {world_size}")
        network = Wires(1e-6, 1e9, ranks_per_node).network
        program = self.programs[algorithm]
        try:
            return replay(program, world_size, network=network, ranks="greenlets")
        except RankError:
            return replay(program, world_size, network=network)

    def _ask(self, algorithm: str, message_bytes: Any, world_size: Any, network: Network) -> Any:
        """Seconds by the formula of an algorithm; numbers or arrays."""
        segments = _segments(algorithm, message_bytes, world_size)
        return self.formulas[algorithm](message_bytes, world_size, network, **segments)

    def _once(self, key: Hashable, compute: Callable[[], Any]) -> Any:
        if key not in self._memory:
            try:
                self._memory[key] = compute(), None
            except Exception as error:
                self._memory[key] = None, error
            if len(self._memory) > _REMEMBERED:
                self._memory.popitem(last=False)
        answer, problem = self._memory[key]
        if problem is not None:
            raise problem.with_traceback(None)
        return answer


def _segments(algorithm: str, message_bytes: Any, world_size: Any) -> dict[str, Any]:
    """Segments large enough that a message is not cut into thousands: what the algorithm does, in few pieces."""
    if algorithm == "pipelined ring":
        return {"segment_bytes": np.maximum(_SEGMENT_BYTES, np.ceil(message_bytes / world_size / 2))}
    if algorithm == "double tree":
        return {"segment_bytes": np.maximum(_SEGMENT_BYTES, np.ceil(message_bytes / 2 / 16))}
    return {}
