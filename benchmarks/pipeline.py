"""A step of 1F1B by our executor against `torch.distributed.pipelining`, taking turns on the same ranks."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator

import torch
import torch.distributed as dist
from torch import nn

from benchmarks.row import Row
from course_lib import run
from course_lib.pipeline import one_forward_one_backward, run_schedule

__all__ = ["measure"]

_RANKS, _MICRO_BATCHES, _ROWS, _DEPTH = 2, 8, 32, 4
_WIDTHS = (128, 512)


def _program(comm, width: int, turns: int) -> dict[str, list[float]]:
    """Seconds of every step of both on this rank."""
    from torch.distributed import pipelining

    torch.manual_seed(comm.rank)
    layers = [part for _ in range(_DEPTH) for part in (nn.Linear(width, width), nn.ReLU())]
    module = nn.Sequential(*layers)
    batch = torch.randn(_MICRO_BATCHES * _ROWS, width, generator=torch.Generator().manual_seed(7))
    stage = pipelining.PipelineStage(module, comm.rank, _RANKS, torch.device("cpu"))
    theirs = pipelining.Schedule1F1B(stage, _MICRO_BATCHES, loss_fn=lambda y, _: y.square().sum(), scale_grads=False)
    last = {"target": batch, "losses": []} if comm.rank == _RANKS - 1 else {}
    ours = one_forward_one_backward(_RANKS, _MICRO_BATCHES)

    def our_step() -> None:
        shape, loss = (lambda *_: (_ROWS, width)), (lambda y, _: y.square().sum())
        run_schedule(comm, ours, {comm.rank: module}, batch.split(_ROWS), shape, loss)

    steps = {"torch": lambda: theirs.step(*[batch] * (comm.rank == 0), **last), "ours": our_step}
    seconds: dict[str, list[float]] = {name: [] for name in steps}
    gradients = {}
    for _ in range(turns + 3):  # the first steps open connections and learn shapes: not counted
        for name, step in steps.items():
            module.zero_grad()
            dist.barrier()
            began_s = time.perf_counter()
            step()
            seconds[name].append(time.perf_counter() - began_s)
            gradients[name] = [p.grad for p in module.parameters()]
    for a, b in zip(gradients["ours"], gradients["torch"], strict=True):
        torch.testing.assert_close(a, b)
    return {name: row[3:] for name, row in seconds.items()}


def measure(launches: int = 5) -> Iterator[Row]:
    """Median time of our step over PyTorch's, per launch; then the median of the launches."""
    for width in _WIDTHS:
        ratios, torch_ms = [], []
        for _ in range(launches):
            by_rank = run(_program, _RANKS, args=(width, 40), timeout_s=300.0).results
            names = by_rank[0]
            slowest = {name: [max(turn) for turn in zip(*(r[name] for r in by_rank), strict=True)] for name in names}
            medians = {name: statistics.median(row) for name, row in slowest.items()}
            ratios.append(medians["ours"] / medians["torch"])
            torch_ms.append(medians["torch"] * 1e3)
        what = f"{_MICRO_BATCHES} micro-batches of {_ROWS} × {width}, {_RANKS} ranks"
        spread = min(torch_ms), max(torch_ms)
        yield Row("pipeline", f"a step of PyTorch's 1F1B, {what}", statistics.median(torch_ms), "ms", spread)
        spread = min(ratios), max(ratios)
        yield Row(
            "pipeline", f"a step of ours over PyTorch's, {what}", statistics.median(ratios), "x", spread, "at most 1.1"
        )
