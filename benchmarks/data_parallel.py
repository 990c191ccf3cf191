"""A training step of our data parallelism against PyTorch's DistributedDataParallel, taking turns on the same ranks."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from benchmarks.row import Row, row_of
from benchmarks.turns import Seconds, launch_s, take_turns
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


def _program(comm, width: int, depth: int, examples: int, all_reduce: str, turns: int) -> Seconds:
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

    def step(name: str) -> None:
        optimizers[name].zero_grad()
        models[name](inputs).square().mean().backward()
        optimizers[name].step()

    seconds, _ = take_turns({name: partial(step, name) for name in models}, turns)
    torch.testing.assert_close(list(models["ours"].parameters()), list(models["ddp"].parameters()))
    return seconds


def measure(launches: int = 5) -> Iterator[Row]:
    """Median time of our step over DDP's, per launch; then the median of the launches."""
    for label, model in _MODELS.items():
        ratios, ddp_ms = [], []
        for _ in range(launches):
            turns = 15 if label == "64 MB" else 60
            medians = launch_s(_program, _RANKS, *model, turns)
            ratios.append(medians["ours"] / medians["ddp"])
            ddp_ms.append(medians["ddp"] * 1e3)
        yield row_of("data parallel", f"a step of DDP, {label}, {_RANKS} ranks", ddp_ms, "ms")
        what = f"a step of ours over DDP's, {label}, {_RANKS} ranks"
        yield row_of("data parallel", what, ratios, "x", "at most 1.05")
