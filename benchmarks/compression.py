"""Compressed gradients as our hooks under DDP against PyTorch's own hooks, taking turns on the same ranks.

PyTorch has PowerSGD as a hook. It has none for top-k: there the plain all-reduce and fp16 stand beside ours.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import torch
from torch import nn

from benchmarks.row import Row, row_of
from benchmarks.turns import Seconds, launch_s, take_turns
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


def _program(comm) -> Seconds:
    """Seconds of every step with every hook on this rank."""
    models = _wrapped(comm)
    optimizers = {name: torch.optim.SGD(model.parameters(), lr=0.01) for name, model in models.items()}
    inputs = torch.randn(_EXAMPLES, _WIDTH, generator=torch.Generator().manual_seed(comm.rank))
    losses: dict[str, list[float]] = {name: [] for name in models}

    def step(name: str) -> None:
        optimizers[name].zero_grad()
        loss = (models[name](inputs) - inputs).square().mean()
        loss.backward()
        optimizers[name].step()
        losses[name].append(loss.item())

    # DDP rebuilds its buckets, and PowerSGD begins after two steps.
    seconds, _ = take_turns({name: partial(step, name) for name in models}, _TURNS, warm_up=4)
    assert all(row[-1] < row[0] for row in losses.values()), losses
    return seconds


def measure(launches: int = 5) -> Iterator[Row]:
    """Median time of a step with our hook over one with PyTorch's, per launch; then the median of the launches."""
    medians = [launch_s(_program, _RANKS) for _ in range(launches)]
    plain_ms = [1e3 * launch["torch all-reduce"] for launch in medians]
    what = f"a step of DDP, its all-reduce as a hook, 16 MB, {_RANKS} ranks"
    yield row_of("compression", what, plain_ms, "ms")
    for ours, theirs, goal in _PAIRS:
        ratios = [launch[ours] / launch[theirs] for launch in medians]
        what = f"a step with our {ours} over one with {theirs.replace('torch', 'PyTorch’s')}, 16 MB, {_RANKS} ranks"
        yield row_of("compression", what, ratios, "x", goal)
