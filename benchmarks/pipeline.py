"""A step of 1F1B by our executor against `torch.distributed.pipelining`, taking turns on the same ranks."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import nn

from benchmarks.row import Row, row_of
from benchmarks.turns import Seconds, launch_s, take_turns
from course_lib.pipeline import one_forward_one_backward, run_schedule

__all__ = ["measure"]

_RANKS, _MICRO_BATCHES, _ROWS, _DEPTH = 2, 8, 32, 4
_WIDTHS = (128, 512)


def _program(comm, width: int, turns: int) -> Seconds:
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

    def our_step() -> list[torch.Tensor]:
        module.zero_grad()
        shape, loss = (lambda *_: (_ROWS, width)), (lambda y, _: y.square().sum())
        run_schedule(comm, ours, {comm.rank: module}, batch.split(_ROWS), shape, loss)
        return [p.grad for p in module.parameters()]

    def torch_step() -> list[torch.Tensor]:
        module.zero_grad()
        theirs.step(*[batch] * (comm.rank == 0), **last)
        return [p.grad for p in module.parameters()]

    seconds, gradients = take_turns({"torch": torch_step, "ours": our_step}, turns)
    torch.testing.assert_close(gradients["ours"], gradients["torch"])
    return seconds


def measure(launches: int = 5) -> Iterator[Row]:
    """Median time of our step over PyTorch's, per launch; then the median of the launches."""
    for width in _WIDTHS:
        ratios, torch_ms = [], []
        for _ in range(launches):
            medians = launch_s(_program, _RANKS, width, 40)
            ratios.append(medians["ours"] / medians["torch"])
            torch_ms.append(medians["torch"] * 1e3)
        what = f"{_MICRO_BATCHES} micro-batches of {_ROWS} × {width}, {_RANKS} ranks"
        yield row_of("pipeline", f"a step of PyTorch's 1F1B, {what}", torch_ms, "ms")
        yield row_of("pipeline", f"a step of ours over PyTorch's, {what}", ratios, "x", "at most 1.1")
