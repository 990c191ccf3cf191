"""Ways to do the same that take turns on the same ranks: whatever else the machine does slows all of them alike."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any

import torch.distributed as dist

from course_lib import run

__all__ = ["Seconds", "launch_s", "take_turns"]

Seconds = dict[str, list[float]]  # of each way, turn by turn


def take_turns(ways: Mapping[str, Callable[[], Any]], turns: int, warm_up: int = 3) -> tuple[Seconds, dict[str, Any]]:
    """What each way took on this rank, and what it gave in the last turn. All ranks begin together.

    Args:
        warm_up: turns before these that are not counted: they open connections and learn shapes.
    """
    seconds: Seconds = {name: [] for name in ways}
    gave = {}
    for _ in range(turns + warm_up):
        for name, way in ways.items():
            dist.barrier()
            began_s = time.perf_counter()
            gave[name] = way()
            seconds[name].append(time.perf_counter() - began_s)
    return {name: row[warm_up:] for name, row in seconds.items()}, gave


def launch_s(
    program: Callable[..., Seconds],
    world_size: int,
    *args: Any,
    typical: Callable[[list[float]], float] = statistics.median,
) -> dict[str, float]:
    """Seconds of each way in one launch; a turn takes as long as on its slowest rank."""
    by_rank = run(program, world_size, args=args, timeout_s=300.0, echo=False).results
    slowest = {name: [max(turn) for turn in zip(*(rank[name] for rank in by_rank), strict=True)] for name in by_rank[0]}
    return {name: typical(row) for name, row in slowest.items()}
