"""Averaging gradients while the backward pass still runs: a bucket leaves as soon as it is full.

backward   ▕ layer 3 ▏ layer 2 ▏ layer 1 ▏ layer 0 ▏
wire                 ▕ bucket 0 ▏   ▕ bucket 1 ▏    ▕ bucket 2 ▏ step

`OverlappedAverage` is the idea alone. `DataParallel` wraps a module and handles all that can happen in a training: it
finishes by itself, weighs uneven parts pass by pass, accumulates gradients, sends zeros for unused parameters, refuses
a second gradient, and says what to do after a backward pass that failed.
"""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import nn

from course_lib.collectives import ring_all_reduce
from course_lib.comm import Communicator, Work
from course_lib.comm.collective import all_reduce_named
from course_lib.data_parallel.averaging import (
    BUCKET_BYTES,
    Bucket,
    bucket_name,
    bucket_plan,
    bucket_views,
    first_places,
    forget_unused,
    mark_used,
    numbered,
    parameter_names,
    pass_weight,
    refuse_late_weighing,
    scale_gradient,
    trained_parameters,
)
from course_lib.data_parallel.gradient_hooks import GradientHooks, release_hooks


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


_NO_BACKWARD = -1  # what autograd says where no backward pass runs


class DataParallel(nn.Module):
    """A module whose `loss.backward()` leaves on every rank the gradient of the joined batch.

    Each parameter's hook, called when its gradient is complete, puts it into its bucket; a full bucket is all-reduced
    beside the program. When the backward pass has ended, `finish` sends what is left and waits for all of it. Buckets
    start in the order of the plan on every rank, and bear names: a rank that starts another one is told. Afterwards
    gradients are views of their buckets.

    Give every rank the same weights first (`broadcast_state`); buffers are each rank's own. Which parameters are
    averaged is settled here: those that want a gradient now. One that is frozen later, or that no rank uses, keeps no
    gradient; one that comes later is refused. To wrap the module again puts the new wrapper in this one's place.

    After a backward pass that ended with an error, call `finish` before anything else, so that no rank waits for this
    one, and then clear the gradients.

    With uneven parts say `model.share = len(part) / len(batch)` before each backward pass; it is 1/world_size unless
    you set it. A pass's gradients are multiplied by share × world_size as they are added up, and the sum by
    1/world_size when it leaves: so each pass inside `no_sync` counts by a share of its own.

    Args:
        overlap: False waits for the end of the backward pass before the first bucket leaves.
    """

    def __init__(
        self,
        comm: Communicator,
        module: nn.Module,
        bucket_bytes: int = BUCKET_BYTES,
        *,
        overlap: bool = True,
        all_reduce: Callable[..., None] = ring_all_reduce,
    ) -> None:
        super().__init__()
        self.module = module
        self._share = 1 / comm.world_size
        self._comm = comm
        self._all_reduce = all_reduce
        self._overlap = overlap
        self._bucket_bytes = bucket_bytes
        self._trained = trained_parameters(module)
        release_hooks(self._trained)
        self._known = set(self._trained)
        plan = bucket_plan(self._trained, bucket_bytes)
        names = parameter_names(module)
        self._buckets = [_Filling(bucket, place, self._trained, names) for place, bucket in enumerate(plan)]
        self._bucket_of = {number: bucket for bucket in self._buckets for number in bucket.views}
        self._started: list[Work] = []
        self._hooks = GradientHooks(self._trained, self._take, self.finish, self._weight)

    def __deepcopy__(self, memo: dict[Any, Any]) -> DataParallel:
        """A wrapper of its own around a copy of the module: gradients, buckets and hooks are not copied."""
        module, all_reduce = copy.deepcopy((self.module, self._all_reduce), memo)
        wrapper = DataParallel(self._comm, module, self._bucket_bytes, overlap=self._overlap, all_reduce=all_reduce)
        wrapper.training, wrapper.share = self.training, self._share
        return wrapper

    @property
    def share(self) -> float:
        """This rank's part of the batch, by which the next backward pass counts.

        Raises:
            ValueError: where you set an uneven one and the module has a SyncBatchNorm: weigh the loss instead.
        """
        return self._share

    @share.setter
    def share(self, share: float) -> None:
        refuse_late_weighing(self._comm, self.module, share)
        self._share = share
        if self._weight() != 1:
            self._hooks.weigh()

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the module makes of its arguments.

        Raises:
            RuntimeError: if the last backward pass ended with an error and `finish` was not called after it; if the
                module was wrapped again, or has a parameter that wants a gradient and did not when it was wrapped.
        """
        self._refuse_changes()
        if self._hooks.in_backward and torch._C._current_graph_task_id() == _NO_BACKWARD:
            raise RuntimeError("the last backward pass ended with an error: call finish() after it, then zero_grad()")
        return self.module(*args, **kwargs)

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """Backward passes inside only add up gradients on their own rank; the next one outside averages the sum.

        With uneven micro-batches each has its share of the whole batch: no division by their number is needed then.
        """
        before, self._hooks.silent = self._hooks.silent, True
        try:
            yield
        finally:
            self._hooks.silent = before

    def finish(self) -> None:
        """Send the buckets that are not full, zeros (−0.0) where a gradient is missing, and wait for all of them.

        The backward pass calls it at its end. A rank that has no backward pass to make, or whose backward pass ended
        with an error, must call it itself.
        """
        for number in [number for bucket in self._buckets for number in bucket.missing]:
            self._fill(number)
        if self._overlap:
            self._start_full_buckets()
            for work in self._started:
                work.wait()
        for bucket in self._buckets:
            if not self._overlap:
                all_reduce_named(self._comm, self._all_reduce, bucket.marked(), bucket.name)
            bucket.missing = set(bucket.views)
            forget_unused(bucket.flat, bucket.places, [self._trained[number] for number in bucket.views])
            for parameter in bucket.take_absent(self._trained):
                parameter.grad = None
        self._started, self._hooks.in_backward = [], False

    def _weight(self) -> float:
        return pass_weight(self._share, self._comm.world_size)

    def _refuse_changes(self) -> None:
        if self._hooks.released:
            raise RuntimeError("the module was wrapped again, which took this wrapper's hooks: call the newer one")
        if any(parameter.requires_grad and parameter not in self._known for parameter in self.module.parameters()):
            names = [name for name, p in self.module.named_parameters() if p.requires_grad and p not in self._known]
            raise RuntimeError(
                f"{names[0]} wants a gradient, and did not (or was another tensor) when the module was wrapped: "
                "wrap it again; load a state with assign=False"
            )

    def _take(self, number: int) -> None:
        """A parameter's gradient is complete."""
        self._fill(number)
        if self._overlap:
            self._start_full_buckets()

    def _fill(self, number: int) -> None:
        """Put a gradient into its bucket, where it stays."""
        bucket, parameter = self._bucket_of[number], self._trained[number]
        if number not in bucket.missing:
            name = next(name for name, known in self.module.named_parameters() if known is parameter)
            raise RuntimeError(
                f"{name} got a second gradient in one backward pass, after the first left: "
                "with checkpoint(), say use_reentrant=False"
            )
        bucket.missing.remove(number)
        if parameter.grad is None:
            bucket.absent.add(number)
        scale_gradient(parameter, 1 / self._comm.world_size, out=bucket.views[number])
        parameter.grad = bucket.views[number]

    def _start_full_buckets(self) -> None:
        """Start them in the order of the plan: one that is full waits for those before it."""
        for bucket in self._buckets[len(self._started) :]:
            if bucket.missing:
                break
            self._started.append(self._comm.start(all_reduce_named, self._all_reduce, bucket.marked(), bucket.name))


class _Filling:
    """A bucket's memory: `views` by number of the parameter; which gradients are missing yet, and which never came."""

    def __init__(
        self, bucket: Bucket, place: int, parameters: list[nn.Parameter], names: dict[nn.Parameter, str]
    ) -> None:
        flat, views = bucket_views(bucket, parameters)
        self.flat = numbered(flat, place)
        self.name = bucket_name(place, [names[parameters[number]] for number in bucket.numbers])
        self.views = dict(zip(bucket.numbers, views, strict=True))
        self.missing = set(self.views)
        self.absent: set[int] = set()
        self.places = first_places(views)

    def marked(self) -> torch.Tensor:
        """The flat row, in which every gradient that this rank has begins with something else than −0.0."""
        places = self.places
        if self.absent:
            places = first_places([view for number, view in self.views.items() if number not in self.absent])
        mark_used(self.flat, places)
        return self.flat

    def take_absent(self, parameters: list[nn.Parameter]) -> list[nn.Parameter]:
        """The frozen parameters of which this rank had no gradient."""
        absent = [parameters[number] for number in self.absent if not parameters[number].requires_grad]
        self.absent.clear()
        return absent
