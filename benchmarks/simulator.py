"""The simulator: messages per second, and the time of a ring all-reduce over many ranks."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator

import torch

from benchmarks.row import Row
from course_lib import Network, simulate
from course_lib.collectives import ring_all_reduce

__all__ = ["measure"]

_GOALS = {64: "", 256: "at most 1", 1024: "at most 10"}


def measure(rounds: int = 3) -> Iterator[Row]:
    """Seconds, and microseconds a message (a constant one means a cost linear in messages)."""
    network = Network(latency_s=5e-6, bytes_per_s=12.5e9)
    tensor = torch.empty(2**24, device="meta")
    for world_size, goal in _GOALS.items():
        seconds = []
        for _ in range(rounds):
            began_s = time.perf_counter()
            messages = len(simulate(ring_all_reduce, world_size, args=(tensor,), network=network).trace.messages)
            seconds.append(time.perf_counter() - began_s)
        spread = min(seconds), max(seconds)
        what = f"ring all-reduce of {world_size:,} ranks, {messages:,} messages"
        yield Row("simulator", what, statistics.median(seconds), "s", spread, goal)
        per_message = [second / messages * 1e6 for second in seconds]
        spread = min(per_message), max(per_message)
        yield Row("simulator", f"one message among {world_size:,} ranks", statistics.median(per_message), "µs", spread)
