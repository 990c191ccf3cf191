"""Our all-reduces against Gloo's own, on the same processes, taking turns."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator

import torch
import torch.distributed as dist

from benchmarks.row import Row, row_of
from benchmarks.turns import Seconds, launch_s
from course_lib.collectives import ALL_REDUCES

__all__ = ["measure"]

_OURS = ("ring", "halving-doubling", "pipelined ring")
_SIZES = {"1 KiB": 2**10, "64 KiB": 2**16, "1 MiB": 2**20, "8 MiB": 2**23, "64 MiB": 2**26}


def _program(comm, message_bytes: int, turns: int) -> Seconds:
    """Seconds of every turn of every algorithm on this rank."""
    tensor = torch.ones(message_bytes // 4)
    ways = {"gloo": lambda: dist.all_reduce(tensor)}
    ways |= {name: (lambda all_reduce=ALL_REDUCES[name]: all_reduce(comm, tensor)) for name in _OURS}
    seconds: Seconds = {name: [] for name in ways}
    for _ in range(turns + 1):  # the first turn opens connections: not counted
        for name, all_reduce in ways.items():
            tensor.fill_(1.0)
            dist.barrier()
            began_s = time.perf_counter()
            all_reduce()
            seconds[name].append(time.perf_counter() - began_s)
            assert tensor[0] == comm.world_size
    return {name: row[1:] for name, row in seconds.items()}


def measure(launches: int = 5) -> Iterator[Row]:
    """Median time of each of ours over Gloo's, per launch; then the median of the launches."""
    for world_size in (2, 4):
        for label, message_bytes in _SIZES.items():
            ratios: dict[str, list[float]] = {name: [] for name in _OURS}
            turns = 5 if message_bytes >= 2**23 else 30
            for _ in range(launches):
                medians = launch_s(_program, world_size, message_bytes, turns)
                for name in _OURS:
                    ratios[name].append(medians[name] / medians["gloo"])
            yield from _rows(world_size, label, ratios)


def _rows(world_size: int, label: str, ratios: dict[str, list[float]]) -> Iterator[Row]:
    best = min(ratios, key=lambda name: statistics.median(ratios[name]))
    for name, row in ratios.items():
        goal = "at most 1" if label == "64 MiB" and name == best else ""
        what = f"{name} over Gloo's own, {label}, {world_size} ranks"
        yield row_of("all-reduce", what, row, "x", goal)
