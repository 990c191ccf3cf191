"""Averaging gradients while the backward pass still runs: a bucket leaves as soon as it is full.

backward   ▕ layer 3 ▏ layer 2 ▏ layer 1 ▏ layer 0 ▏
wire                 ▕ bucket 0 ▏   ▕ bucket 1 ▏    ▕ bucket 2 ▏ step

This is the idea alone. `DataParallel` is the same for uneven parts, accumulation, unused parameters and errors.
"""

from __future__ import annotations

import torch
from torch import nn

from course_lib.collectives import ring_all_reduce
from course_lib.comm import Communicator, Work
from course_lib.data_parallel.averaging import trained_parameters
from course_lib.data_parallel.buckets import BUCKET_BYTES, bucket_plan
from course_lib.data_parallel.gradient_hooks import GradientHooks

__all__ = ["OverlappedAverage"]


class OverlappedAverage:
    """Averages a module's gradients while `loss.backward()` runs; call `finish()` after it.

    Every rank has equally many examples, and every pass uses every parameter.

    Raises:
        RuntimeError: in a second backward pass before `finish()`: what has left cannot be added to.
    """

    def __init__(self, comm: Communicator, module: nn.Module, bucket_bytes: int = BUCKET_BYTES) -> None:
        self.comm, self.parameters = comm, trained_parameters(module)
        self.buckets = bucket_plan(self.parameters, bucket_bytes)
        self.complete: set[int] = set()
        self.started: list[tuple[torch.Tensor, Work]] = []
        self._hooks = GradientHooks(self.parameters, self._take_once, self._end_pass, weight=lambda: 1.0)

    def _take_once(self, number: int) -> None:
        if number in self.complete:
            raise RuntimeError("finish() must be called after each backward pass, got a second pass before it")
        self.take(number, self.parameters[number])

    def _end_pass(self) -> None:
        self._hooks.in_backward = False

    def take(self, number: int, parameter: torch.Tensor) -> None:
        """The hook: this gradient is complete. Start the buckets that are full, in the order of the plan."""
        self.complete.add(number)
        for bucket in self.buckets[len(self.started) :]:
            if not self.complete.issuperset(bucket.numbers):
                break  # those after it wait, too, so that all ranks start the same one
            row = torch.cat([self.parameters[n].grad.flatten() for n in bucket.numbers])
            name = f"bucket {len(self.started)}"
            self.started.append((row, self.comm.start(ring_all_reduce, row, "mean", name=name)))

    def finish(self) -> None:
        """Wait for all buckets, and give every parameter its mean gradient."""
        for bucket, (row, work) in zip(self.buckets, self.started, strict=True):
            work.wait()
            parameters = [self.parameters[n] for n in bucket.numbers]
            for parameter, mean in zip(parameters, row.split([p.numel() for p in parameters]), strict=True):
                parameter.grad = mean.view_as(parameter)
        self.complete.clear()
        self.started.clear()
