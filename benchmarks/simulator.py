"""The simulator: messages per second, and the time and memory of a ring all-reduce over many ranks."""

from __future__ import annotations

import multiprocessing
import resource
import sys
import time
from collections.abc import Iterator

import torch

from benchmarks.row import Row, row_of
from course_lib import Network, simulate
from course_lib.collectives import ring_all_reduce

__all__ = ["measure"]

_GOALS = {64: "", 256: "at most 1", 1024: "at most 10"}


def measure(rounds: int = 3) -> Iterator[Row]:
    """Seconds, microseconds a message (a constant one means a cost linear in messages), and peak memory."""
    for world_size, goal in _GOALS.items():
        with multiprocessing.get_context("forkserver").Pool(1) as fresh:
            seconds, messages, peak_bytes = fresh.apply(_simulated, (world_size, rounds))
        what = f"ring all-reduce of {world_size:,} ranks, {messages:,} messages"
        yield row_of("simulator", what, seconds, "s", goal)
        per_message = [second / messages * 1e6 for second in seconds]
        yield row_of("simulator", f"one message among {world_size:,} ranks", per_message, "µs")
    megabytes = peak_bytes / 1e6
    what = f"peak memory of {world_size:,} ranks, above that of 64"
    yield row_of("simulator", what, [megabytes], "MB")


def _simulated(world_size: int, rounds: int) -> tuple[list[float], int, int]:
    """Seconds of each round, its number of messages, and the bytes by which peak memory grew; in a fresh process."""
    network = Network(latency_s=5e-6, bytes_per_s=12.5e9)
    tensor = torch.empty(2**24, device="meta")
    simulate(ring_all_reduce, 64, args=(tensor,), network=network)
    before_bytes, seconds = _peak_bytes(), []
    for _ in range(rounds):
        began_s = time.perf_counter()
        messages = len(simulate(ring_all_reduce, world_size, args=(tensor,), network=network).trace.messages)
        seconds.append(time.perf_counter() - began_s)
    return seconds, messages, _peak_bytes() - before_bytes


def _peak_bytes() -> int:
    unit_bytes = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit_bytes
