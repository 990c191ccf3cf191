"""Compressed gradients as our hooks under DDP against PyTorch's own hooks, taking turns on the same ranks.

PyTorch has PowerSGD as a hook. It has none for top-k: there the plain all-reduce and fp16 stand beside ours.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator

import torch
import torch.distributed as dist
from torch import nn

from benchmarks.row import Row
from course_lib import run
from course_lib.collectives import ALL_REDUCES
from course_lib.compression import CompressedAllReduce, PowerSGD, TopK, ddp_hook

__all__ = ["measure"]

_RANKS, _EXAMPLES, _BUCKET_MIB, _TURNS = 2, 64, 16, 15
_WIDTH, _DEPTH = 1024, 4  # 16 MB of gradients
_POWER_RANK, _SHARE = 2, 0.01
_PAIRS = (  # ours, PyTorch's, and the goal
    ("PowerSGD", "torch PowerSGD", "at most 1.1"),
    ("top 1%", "torch all-reduce", ""),
    ("top 1%", "torch fp16", ""),
)


def _wrapped(comm) -> dict[str, nn.Module]:
    """The same model under DDP for each hook."""
    from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook
    from torch.nn.parallel import DistributedDataParallel

    models = {}
    for name in ("PowerSGD", "torch PowerSGD", "top 1%", "torch all-reduce", "torch fp16"):
        torch.manual_seed(0)
        module = nn.Sequential(*[nn.Sequential(nn.Linear(_WIDTH, _WIDTH), nn.ReLU()) for _ in range(_DEPTH)])
        models[name] = DistributedDataParallel(module, bucket_cap_mb=_BUCKET_MIB, gradient_as_bucket_view=True)
    sum_up = ALL_REDUCES["recursive doubling"]
    power = PowerSGD(models["PowerSGD"].parameters(), _POWER_RANK, all_reduce=sum_up)
    models["PowerSGD"].register_comm_hook(None, ddp_hook(comm, power))
    state = powerSGD_hook.PowerSGDState(None, matrix_approximation_rank=_POWER_RANK, start_powerSGD_iter=2)
    models["torch PowerSGD"].register_comm_hook(state, powerSGD_hook.powerSGD_hook)
    models["top 1%"].register_comm_hook(None, ddp_hook(comm, CompressedAllReduce(TopK(_SHARE))))
    models["torch all-reduce"].register_comm_hook(None, default_hooks.allreduce_hook)
    models["torch fp16"].register_comm_hook(None, default_hooks.fp16_compress_hook)
    return models


def _program(comm) -> dict[str, list[float]]:
    """Seconds of every step with every hook on this rank."""
    models = _wrapped(comm)
    optimizers = {name: torch.optim.SGD(model.parameters(), lr=0.01) for name, model in models.items()}
    inputs = torch.randn(_EXAMPLES, _WIDTH, generator=torch.Generator().manual_seed(comm.rank))
    seconds: dict[str, list[float]] = {name: [] for name in models}
    losses: dict[str, list[float]] = {name: [] for name in models}
    for _ in range(_TURNS + 4):  # DDP rebuilds its buckets, and PowerSGD begins after two steps: not counted
        for name, model in models.items():
            dist.barrier()
            began_s = time.perf_counter()
            optimizers[name].zero_grad()
            loss = (model(inputs) - inputs).square().mean()
            loss.backward()
            optimizers[name].step()
            seconds[name].append(time.perf_counter() - began_s)
            losses[name].append(loss.item())
    assert all(row[-1] < row[0] for row in losses.values()), losses
    return {name: row[4:] for name, row in seconds.items()}


def measure(launches: int = 5) -> Iterator[Row]:
    """Median time of a step with our hook over one with PyTorch's, per launch; then the median of the launches."""
    medians: list[dict[str, float]] = []
    for _ in range(launches):
        by_rank = run(_program, _RANKS, timeout_s=300.0).results
        names = by_rank[0]
        slowest = {name: [max(turn) for turn in zip(*(r[name] for r in by_rank), strict=True)] for name in names}
        medians.append({name: statistics.median(row) for name, row in slowest.items()})
    plain_ms = [1e3 * launch["torch all-reduce"] for launch in medians]
    what = f"a step of DDP, its all-reduce as a hook, 16 MB, {_RANKS} ranks"
    yield Row("compression", what, statistics.median(plain_ms), "ms", (min(plain_ms), max(plain_ms)))
    for ours, theirs, goal in _PAIRS:
        ratios = [launch[ours] / launch[theirs] for launch in medians]
        what = f"a step with our {ours} over one with {theirs.replace('torch', 'PyTorch’s')}, 16 MB, {_RANKS} ranks"
        yield Row("compression", what, statistics.median(ratios), "x", (min(ratios), max(ratios)), goal)
