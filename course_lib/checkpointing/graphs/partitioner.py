"""torch's own partitioner, `torch.compile` with a memory budget, measured beside our plans."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import torch
from torch import nn

from course_lib.pipeline import HeldActivations


class StepMemory(NamedTuple):
    """One training step, measured.

    Attributes:
        peak_bytes: the most that torch's allocator gave out at once, gradients and scratch memory included.
        convolutions: how many were computed forward.
        gradients: of the parameters.
        saved_bytes: what autograd keeps from the forward pass for the backward pass, without the input and parameters;
            of compiled models only.
    """

    peak_bytes: int
    convolutions: int
    gradients: list[torch.Tensor]
    saved_bytes: int = 0


def measure_step(step: Callable[[], object], model: nn.Module) -> StepMemory:
    """Do a step that leaves gradients in the model's parameters, under torch's profiler."""
    model.zero_grad()
    cpu = [torch.profiler.ProfilerActivity.CPU]
    with _without_greeting(), torch.profiler.profile(activities=cpu, profile_memory=True) as profile:
        step()
    todo = list(profile.profiler.kineto_results.experimental_event_tree())
    changes = []
    convolutions = 0
    while todo:
        event = todo.pop()
        todo += event.children
        convolutions += event.name == "aten::convolution"
        if event.tag.name == "Allocation":
            changes.append((event.start_time_ns, event.extra_fields.alloc_size))
    now = peak = 0
    for _, change in sorted(changes, key=lambda each: each[0]):
        now += change
        peak = max(peak, now)
    gradients = [p.grad.clone() for p in model.parameters() if p.grad is not None]
    return StepMemory(peak, convolutions, gradients)


def partitioned_step(
    model: nn.Module, x: torch.Tensor, loss: Callable[[torch.Tensor], torch.Tensor], budget: float
) -> StepMemory:
    """One step of the model as torch partitions it, keeping at most this share (0 to 1) of what it would.

    Operators run as they are, one after the other: no compiler is needed. The partitioner is the one that torch's
    compiler uses.
    """
    import torch._functorch.config as config

    torch._dynamo.reset()
    with config.patch(activation_memory_budget=budget):
        compiled = torch.compile(model, backend="aot_eager_decomp_partition")
        loss(compiled(x)).backward()  # compiles
        held = HeldActivations([*model.parameters(), *model.buffers(), x])
        with held.watch():
            y = compiled(x)
        saved_bytes = held.now_bytes
        del y
        return measure_step(lambda: loss(compiled(x)).backward(), model)._replace(saved_bytes=saved_bytes)


@contextmanager
def _without_greeting() -> Iterator[None]:
    """Without what torch's profiler writes past Python when it begins and ends."""
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)
