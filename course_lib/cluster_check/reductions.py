"""All-reduce's time by size, and what the model makes of the pairs that were measured."""

from __future__ import annotations

import time
from collections.abc import Sequence

import torch
import torch.distributed as dist

from course_lib.checks import at_least
from course_lib.cluster_check.pairs import Pair
from course_lib.collectives import ring_all_reduce_seconds
from course_lib.comm import Network
from course_lib.comm.devices import wait_for
from course_lib.published import Timing

__all__ = ["expected_seconds", "measure_all_reduce"]

_SIZES = (4_000, 64_000, 1_000_000, 4_000_000, 16_000_000, 64_000_000)
_ROUNDS, _ENOUGH_S = 5, 1.0


def measure_all_reduce(device: torch.device) -> list[Timing]:
    """Times of `dist.all_reduce` by size: of the slowest rank, in the quickest of five rounds. All ranks call it.

    It goes to larger messages until one has taken a second.
    """
    found = []
    for size in _SIZES:
        times = torch.tensor([_seconds(torch.ones(size // 4, device=device)) for _ in range(_ROUNDS)], device=device)
        dist.all_reduce(times, dist.ReduceOp.MAX)  # so all ranks know the same, and go on or stop together
        found.append(Timing(size, times.min().item()))
        if times.sum() > _ENOUGH_S:
            break
    return found


def _seconds(tensor: torch.Tensor) -> float:
    dist.all_reduce(torch.ones(1, device=tensor.device))  # all begin at about one time
    wait_for(tensor.device)
    started_s = time.perf_counter()
    dist.all_reduce(tensor)
    wait_for(tensor.device)
    return time.perf_counter() - started_s


def expected_seconds(message_bytes: float, pairs: Sequence[Pair], world_size: int) -> float:
    """What a ring takes whose links are as the slowest one from a rank to the next, by chapter 02's formula.

    >>> pairs = [Pair(0, 1, [(0, 1.0), (10**6, 2.0)])]
    >>> round(expected_seconds(10**6, pairs, 2), 6)  # two steps of 1 s + 0.5 MB / 1 MB/s
    3.0
    """
    at_least(2, world_size=world_size)
    around = [pair for pair in pairs if (pair.other - pair.one) % world_size in (1, world_size - 1)]
    line = min(around, key=lambda pair: pair.bytes_per_s).line
    network = Network(latency_s=max(0.0, line.latency_s), bytes_per_s=line.bytes_per_s)
    return float(ring_all_reduce_seconds(message_bytes, world_size, network))
