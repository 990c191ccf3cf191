"""A training step of our data parallelism against PyTorch's DistributedDataParallel, taking turns on the same ranks."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from benchmarks.row import Row
from course_lib import run
from course_lib.collectives import ALL_REDUCES
from course_lib.data_parallel import DataParallel

__all__ = ["measure"]

_RANKS = 2
_BUCKET_MIB = 16  # for both
# Parameters' bytes -> width and depth of the model, examples of each rank, and the all-reduce for its buckets: for two
# ranks recursive doubling is one exchange; where there is much to add, the pipelined ring adds while it sends.
_MODELS = {
    "0.3 MB": (128, 4, 64, "recursive doubling"),
    "4 MB": (512, 4, 64, "recursive doubling"),
    "64 MB": (2048, 4, 64, "pipelined ring"),
}


def _program(comm, width: int, depth: int, examples: int, all_reduce: str, turns: int) -> dict[str, list[float]]:
    """Seconds of every step of both on this rank."""
    modules = {}
    for name in ("ddp", "ours"):
        torch.manual_seed(0)
        modules[name] = nn.Sequential(*[nn.Sequential(nn.Linear(width, width), nn.ReLU()) for _ in range(depth)])
    models = {
        "ddp": DistributedDataParallel(modules["ddp"], bucket_cap_mb=_BUCKET_MIB),
        "ours": DataParallel(comm, modules["ours"], _BUCKET_MIB << 20, all_reduce=ALL_REDUCES[all_reduce]),
    }
    optimizers = {name: torch.optim.SGD(model.parameters(), lr=0.01) for name, model in models.items()}
    inputs = torch.randn(examples, width, generator=torch.Generator().manual_seed(comm.rank))
    seconds: dict[str, list[float]] = {name: [] for name in models}
    for _ in range(turns + 3):  # the first steps open connections, and DDP rebuilds its buckets: not counted
        for name, model in models.items():
            dist.barrier()
            began_s = time.perf_counter()
            optimizers[name].zero_grad()
            model(inputs).square().mean().backward()
            optimizers[name].step()
            seconds[name].append(time.perf_counter() - began_s)
    for ours, theirs in zip(models["ours"].parameters(), models["ddp"].parameters(), strict=True):
        torch.testing.assert_close(ours, theirs)
    return {name: row[3:] for name, row in seconds.items()}


def measure(launches: int = 5) -> Iterator[Row]:
    """Median time of our step over DDP's, per launch; then the median of the launches."""
    for label, model in _MODELS.items():
        ratios, ddp_ms = [], []
        for _ in range(launches):
            turns = 15 if label == "64 MB" else 60
            by_rank = run(_program, _RANKS, args=(*model, turns), timeout_s=300.0).results
            slowest = {
                name: [max(turn) for turn in zip(*(r[name] for r in by_rank), strict=True)] for name in by_rank[0]
            }
            medians = {name: statistics.median(row) for name, row in slowest.items()}
            ratios.append(medians["ours"] / medians["ddp"])
            ddp_ms.append(medians["ddp"] * 1e3)
        spread = min(ddp_ms), max(ddp_ms)
        yield Row("data parallel", f"a step of DDP, {label}, {_RANKS} ranks", statistics.median(ddp_ms), "ms", spread)
        spread = min(ratios), max(ratios)
        what = f"a step of ours over DDP's, {label}, {_RANKS} ranks"
        yield Row("data parallel", what, statistics.median(ratios), "x", spread, "at most 1.05")
