"""Layers that take a chosen time and compute next to nothing, to time the overlap of computing and messages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import nn

from course_lib.collectives import ring_all_reduce
from course_lib.comm import Communicator
from course_lib.data_parallel.averaging import BUCKET_BYTES
from course_lib.data_parallel.step import LayerCost
from course_lib.data_parallel.wrapper import DataParallel
from course_lib.data_parallel.zero import FetchedAhead


def timed(
    module: nn.Module, comm: Communicator, *, forward_s: float = 0.0, backward_s: float = 0.0, label: str = ""
) -> nn.Module:
    """The same module, whose forward and backward pass now also keep the rank busy that long, as `comm.compute` does.

    Its gradients are there when the time of its backward pass is over. Its output must be one tensor; `label` names it
    on the timeline.
    """

    def before_forward(*_: Any) -> None:
        comm.compute(forward_s, label=f"forward {label}".strip())

    def before_backward(_: torch.Tensor) -> None:
        comm.compute(backward_s, label=f"backward {label}".strip())

    def after_forward(_: nn.Module, __: Any, output: torch.Tensor) -> None:
        if output.requires_grad:
            output.register_hook(before_backward)

    module.register_forward_pre_hook(before_forward)
    module.register_forward_hook(after_forward)
    return module


def timed_model(comm: Communicator, layers: Sequence[LayerCost], device: Any = "cpu") -> nn.Sequential:
    """A model of layers that have these parameters and take these seconds, and compute next to nothing."""
    modules = [_Layer(layer.parameter_bytes // 4, device) for layer in layers]
    rows = enumerate(zip(modules, layers, strict=True))
    return nn.Sequential(
        *[timed(m, comm, forward_s=c.forward_s, backward_s=c.backward_s, label=str(n)) for n, (m, c) in rows]
    )


def timed_step(
    comm: Communicator,
    layers: Sequence[LayerCost],
    bucket_bytes: int = BUCKET_BYTES,
    *,
    overlap: bool = True,
    all_reduce: Callable[..., None] = ring_all_reduce,
    device: Any = "cpu",
) -> float:
    """Seconds of one data-parallel step of such a model on this rank: a program for `simulate` and for slowed links.

    Args:
        device: "meta" simulates models of any size without holding their numbers; real processes need "cpu".
    """
    model = DataParallel(comm, timed_model(comm, layers, device), bucket_bytes, overlap=overlap, all_reduce=all_reduce)
    comm.barrier()
    began_s = comm.now()
    model(torch.zeros((), device=device)).backward()
    return comm.now() - began_s


def timed_sharded_step(comm: Communicator, units: Sequence[LayerCost], *, ahead: bool = True) -> float:
    """Seconds of one fully sharded step of such units on this rank; for `simulate` with ranks="threads".

    The parameters have shapes and no numbers. The seconds of a backward pass hold all that is done then.
    """
    sharded = FetchedAhead(comm, [_Unit(comm, cost, str(number)) for number, cost in enumerate(units)], ahead=ahead)
    sharded.backward(torch.zeros((), device="meta"), lambda output: output)
    return comm.now()


class _Layer(nn.Module):
    """Adds the sum of its parameters to its input."""

    def __init__(self, length: int, device: Any) -> None:
        super().__init__()
        self.parameter = nn.Parameter(torch.zeros(length, device=device))

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        return inputs + self.parameter.sum()


class _Unit(_Layer):
    """The same, and takes its time: in `FetchedAhead`, the forward pass is the one that records no gradients."""

    def __init__(self, comm: Communicator, cost: LayerCost, name: str) -> None:
        super().__init__(cost.parameter_bytes // 4, "meta")
        self.comm, self.cost = comm, cost
        self.name = name

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        if torch.is_grad_enabled():
            self.comm.compute(self.cost.backward_s, label=f"backward {self.name}")
        else:
            self.comm.compute(self.cost.forward_s, label=f"forward {self.name}")
        return super().forward(inputs)
