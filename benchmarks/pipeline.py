"""A step of 1F1B by our executor against `torch.distributed.pipelining`; and ZB-V against 1F1B on emulated times."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import nn

from benchmarks.row import Row, row_of
from benchmarks.turns import Seconds, launch_s, take_turns
from course_lib import Network, run
from course_lib.pipeline import (
    OperationTimes,
    Schedule,
    one_forward_one_backward,
    peak_in_flight,
    pipeline_timeline,
    run_schedule,
    zero_bubble_v,
)

__all__ = ["measure"]

_RANKS, _MICRO_BATCHES, _ROWS, _DEPTH = 2, 8, 32, 4
_WIDTHS = (128, 512)
_TIMES = OperationTimes(forward_s=0.02, input_s=0.02, weight_s=0.02, transfer_s=0.001)  # of a rank's layers


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
    yield from _zero_bubble(launches)


def _emulated(comm, schedule: Schedule, times: OperationTimes) -> None:
    """A step whose operations take as long as `times` says, on this rank."""
    stages = {n: nn.Linear(4, 4) for n in range(schedule.stages) if schedule.rank_of(n) == comm.rank}
    inputs = torch.ones(schedule.micro_batches, 1, 4).unbind()
    run_schedule(comm, schedule, stages, inputs, lambda *_: (1, 4), lambda y, _: y.sum(), times=times)


def _zero_bubble(launches: int, ranks: int = 4, micro_batches: int = 8) -> Iterator[Row]:
    """ZB-V's step over 1F1B's: both hold the activations of as many layers, ZB-V of stages half as long."""
    schedules = [make(ranks, micro_batches) for make in (zero_bubble_v, one_forward_one_backward)]
    held = [max(peak_in_flight(schedule)) * ranks / schedule.stages for schedule in schedules]
    assert held[0] == held[1], f"both must hold as much, got {held} micro-batches of a rank's layers"
    times = [_TIMES.shared_by(schedule.stages // ranks) for schedule in schedules]
    network, ratios = Network(latency_s=_TIMES.transfer_s), []
    for _ in range(launches):
        steps = (run(_emulated, ranks, args=pair, network=network) for pair in zip(schedules, times, strict=True))
        folded_s, plain_s = (report.seconds for report in steps)
        ratios.append(folded_s / plain_s)
    computed = [pipeline_timeline(*pair).makespan_s for pair in zip(schedules, times, strict=True)]
    what = f"ZB-V's emulated step over 1F1B's, {ranks} ranks, {micro_batches} micro-batches, equal memory"
    yield row_of("pipeline", f"{what} (computed: {computed[0] / computed[1]:.2f})", ratios, "x")
