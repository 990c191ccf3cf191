"""Executor of pipeline schedules on real stages: forward, backward, delayed weight gradients, and the bytes held."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import nn

from course_lib.comm import Communicator
from course_lib.comm.group import mark_part
from course_lib.pipeline.channels import Inbox, InboxInOrder, Outbox, boxes_of, wire_of
from course_lib.pipeline.schedule import Operation, Schedule, check_schedule
from course_lib.pipeline.timing import OperationTimes
from course_lib.replay import Replay


class HeldActivations:
    """How many bytes are held for backward passes, now and at most; parameters are not counted.

    Memory is counted and not tensors, so views and tensors saved twice count once.

    >>> held = HeldActivations()
    >>> x = torch.zeros(3, requires_grad=True)
    >>> with held.watch():
    ...     y = x.exp()
    >>> held.now_bytes
    12
    >>> y.sum().backward()
    >>> held.now_bytes, held.peak_bytes
    (0, 12)
    """

    def __init__(self, parameters: Iterable[torch.Tensor] = ()) -> None:
        self.now_bytes = self.peak_bytes = 0
        self._owned = {parameter.untyped_storage().data_ptr() for parameter in parameters}
        self._holders: Counter[int] = Counter()

    def watch(self) -> AbstractContextManager[Any]:
        """Inside, what autograd saves is counted until it lets go of it."""
        return torch.autograd.graph.saved_tensors_hooks(self.hold, lambda held: held.tensor)

    def hold(self, tensor: torch.Tensor) -> _Held:
        """Count a tensor for as long as what this returns is alive."""
        return _Held(tensor, self)

    def add(self, tensor: torch.Tensor, holders: int) -> None:
        """Count one holder of a tensor's memory more, or one less."""
        storage = tensor.untyped_storage()
        if storage.data_ptr() in self._owned:
            return
        before = self._holders[storage.data_ptr()]
        self._holders[storage.data_ptr()] = before + holders
        if 0 in (before, before + holders):
            self.now_bytes += holders * storage.nbytes()
            self.peak_bytes = max(self.peak_bytes, self.now_bytes)


class _Held:
    """A tensor that is counted while this lives."""

    __slots__ = ("_count", "tensor")

    def __init__(self, tensor: torch.Tensor, count: HeldActivations) -> None:
        self.tensor, self._count = tensor, count
        count.add(tensor, 1)

    def __del__(self) -> None:
        self._count.add(self.tensor, -1)


class StageInput:
    """Input that a stage got from another stage, and the gradient that is sent back for it.

    The stage gets a tensor that is no leaf, so that it may begin in place, as it may behind another layer.

    Attributes:
        door: what a backward pass needs as its input to come as far as here.
    """

    def __init__(self, arrived: torch.Tensor) -> None:
        self.arrived = arrived
        self.door = torch.zeros((), requires_grad=True)
        self._gradient: torch.Tensor | None = None

    def enter(self) -> torch.Tensor:
        """The tensor for the stage; its gradient will stay here."""
        return _Through.apply(self.door, self) if torch.is_grad_enabled() else self.arrived

    def take_gradient(self) -> torch.Tensor:
        """The gradient of what another stage gave, which waits for it: zeros where none of it was used."""
        gradient, self._gradient = self._gradient, None
        return torch.zeros_like(self.arrived) if gradient is None else gradient


class _Through(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, door: torch.Tensor, entry: StageInput) -> torch.Tensor:
        ctx.entry = entry
        ctx.set_materialize_grads(False)
        return entry.arrived.detach()

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor | None) -> tuple[torch.Tensor, None]:
        ctx.entry._gradient = grads[0]
        return torch.zeros(()), None


Loss = Callable[[torch.Tensor, int], torch.Tensor]  # (output of the last stage, number of the micro-batch) -> loss


class PipelineRank:
    """One rank of a pipeline: its stages, what it holds of each micro-batch, and the wire to its neighbors.

    Args:
        stages: stage number -> module, for this rank's stages. Each takes and gives one tensor.
        inputs: the micro-batches, of which the first stage's rank uses the contents and the others the number.
        shape_of: (stage, micro-batch) -> shape of what that stage gives.
        loss: what the last stage's rank makes of its output: this micro-batch's share of the batch's loss.
        recompute: whether a stage keeps only its input and runs forward again in the backward pass, as it ran first:
            with the same random numbers, and buffers are updated once.
        times: how long each operation takes on the clock of a simulated or emulated run.
        activations: counts what is held for backward passes. (What was sent is no part of that; it is let go as soon
            as a later message shows that it arrived.)
        tells_dtype: put a byte before each message that tells its dtype, on all ranks. Without it all messages have the
            parameters' dtype; under autocast and where parameters or inputs have 16 bits, they always tell. Where only
            some ranks have 16 bits, say it on all: otherwise those that tell and those that do not wait for ever.

    Raises:
        ScheduleError: if the schedule cannot be carried out.
        ValueError: if it is for other ranks, stages or micro-batches than are given, or in `run`, if a stage that is
            recomputed changes its input in place: it would not run again as it ran first.
    """

    def __init__(
        self,
        comm: Communicator,
        schedule: Schedule,
        stages: Mapping[int, nn.Module],
        inputs: Sequence[torch.Tensor],
        shape_of: Callable[[int, int], tuple[int, ...]],
        loss: Loss,
        *,
        recompute: bool = False,
        times: OperationTimes | None = None,
        activations: HeldActivations | None = None,
        tells_dtype: bool = False,
    ) -> None:
        check_schedule(schedule)
        _check_parts(comm, schedule, stages, inputs)
        self.comm = comm
        self.schedule = schedule
        self.stages = stages
        self.inputs = inputs
        self.shape_of, self.loss_of = shape_of, loss
        self.recompute = recompute
        self.times = times
        self.activations = activations
        self.tells_dtype = tells_dtype
        self.losses: dict[int, float] = {}
        self._held: dict[
            tuple[int, int], tuple[StageInput | None, torch.Tensor | None, object]
        ] = {}  # input, output, count
        self._replays: dict[tuple[int, int], Replay] = {}
        self._waiting: dict[
            tuple[int, int], tuple[torch.Tensor, torch.Tensor | None]
        ] = {}  # for W: output, its gradient
        self._local: dict[Operation, torch.Tensor] = {}  # from one stage of this rank to another
        self._inbox: Inbox | InboxInOrder
        self._outbox: Outbox

    def run(self) -> None:
        """Do all operations of this rank; gradients add up in the stages' parameters, losses in `losses`."""
        dtype, device = wire_of(self.stages.values(), self.inputs)
        dtype = None if self.tells_dtype else dtype
        shape_of = lambda op: self.shape_of(op.stage - (op.kind == "F"), op.micro_batch)  # noqa: E731
        self._inbox, self._outbox = boxes_of(self.comm, self.schedule, shape_of, dtype, device)
        for call in self.schedule.calls(self.comm.rank):
            arrived = [self._arrived(operation) for operation in call]
            given = [self._done(operation, each) for operation, each in zip(call, arrived, strict=True)]
            for operation, each in zip(call, given, strict=True):
                if each is not None:
                    self._pass_on(operation, each)
        self._outbox.wait()
        for stage in self.stages.values():
            for parameter in stage.parameters():
                mark_part(parameter.grad, [self.comm])

    def _arrived(self, operation: Operation) -> torch.Tensor | None:
        """What it needs from another rank, or from another stage of this one."""
        arrived = self._inbox.take(operation)
        self._outbox.let_go(operation)
        return self._local.pop(operation, None) if arrived is None else arrived

    def _done(self, operation: Operation, arrived: torch.Tensor | None) -> torch.Tensor | None:
        """Do one operation: what it gives."""
        with self.comm.span(str(operation)):
            if self.times is not None:
                self.comm.compute(self.times.seconds(operation, self.schedule), operation.kind)
            return {"F": self._forward, "B": self._backward, "W": self._weights}[operation.kind](operation, arrived)

    def _forward(self, operation: Operation, arrived: torch.Tensor | None) -> torch.Tensor:
        _, stage, number = operation
        entry = None if arrived is None else StageInput(arrived)
        count = self.activations.hold(self._input(number, entry)) if self.activations is not None else None
        with torch.set_grad_enabled(not self.recompute):
            y = self._output(stage, number, entry)
        if self.recompute:
            torch.clear_autocast_cache()  # what it kept of the weights without a graph would serve the second run, too
        self._held[stage, number] = entry, None if self.recompute else y, count
        if stage == self.schedule.stages - 1:
            self.losses[number] = y.item()
        return y.detach()

    def _input(self, number: int, entry: StageInput | None) -> torch.Tensor:
        return self.inputs[number] if entry is None else entry.arrived

    def _output(self, stage: int, number: int, entry: StageInput | None) -> torch.Tensor:
        """What a stage gives; the last one gives the loss."""
        watch = self.activations.watch() if self.activations is not None else nullcontext()
        x = self.inputs[number] if entry is None else entry.enter()
        version = x._version
        with self._as_first(stage, number, x), watch:
            y = self.stages[stage](x)
            if self.recompute and x._version != version:
                raise ValueError(f"a stage that is recomputed must not change its input in place, stage {stage} does")
            return self.loss_of(y, number) if stage == self.schedule.stages - 1 else y

    def _as_first(self, stage: int, number: int, x: torch.Tensor) -> AbstractContextManager[Any]:
        """Inside, the second run of a stage with a micro-batch is as the first one was, and leaves no second trace."""
        if not self.recompute:
            return nullcontext()
        replay = self._replays.pop((stage, number), None)
        if replay is None:
            replay = self._replays[stage, number] = Replay(self.stages[stage], x.device)
        return replay.run()

    def _backward(self, operation: Operation, y_grad: torch.Tensor | None) -> torch.Tensor | None:
        _, stage, number = operation
        entry, y, _ = self._held.pop((stage, number))
        if y is None:
            y = self._output(stage, number, entry)
        if not self.schedule.splits_backward:
            if y.requires_grad:
                _backward_pass(y, y_grad)
        else:
            self._waiting[stage, number] = y, y_grad
            source = self.inputs[number] if entry is None else entry.door
            if y.requires_grad and source.requires_grad:
                _backward_pass(y, y_grad, inputs=[source], retain_graph=True)
        return None if entry is None else entry.take_gradient()

    def _weights(self, operation: Operation, _: torch.Tensor | None) -> None:
        """The gradients that B left out; torch passes through the stage a second time for them."""
        y, y_grad = self._waiting.pop((operation.stage, operation.micro_batch))
        trained = [each for each in self.stages[operation.stage].parameters() if each.requires_grad]
        if trained and y.requires_grad:
            _backward_pass(y, y_grad, inputs=trained)

    def _pass_on(self, operation: Operation, given: torch.Tensor) -> None:
        """To the rank that needs it, or to a stage of one's own."""
        kind, stage, number = operation
        after = stage + 1 if kind == "F" else stage - 1
        if not self._outbox.send(operation, given) and 0 <= after < self.schedule.stages:
            self._local[Operation(kind, after, number)] = given


def run_schedule(comm: Communicator, schedule: Schedule, *args: object, **kwargs: object) -> PipelineRank:
    """Carry out a schedule on this rank; takes what `PipelineRank` takes, and gives it with its losses.

    Raises:
        ScheduleError: if the schedule cannot be carried out, before anything is sent.
    """
    rank = PipelineRank(comm, schedule, *args, **kwargs)  # type: ignore[arg-type]
    rank.run()
    return rank


def _backward_pass(y: torch.Tensor, y_grad: torch.Tensor | None, **kwargs: Any) -> None:
    """One outside of autocast, as torch wants it: forward passes have settled the dtypes."""
    with torch.autocast(y.device.type, enabled=False):
        torch.autograd.backward(y, y_grad, **kwargs)


def _check_parts(
    comm: Communicator, schedule: Schedule, stages: Mapping[int, nn.Module], inputs: Sequence[torch.Tensor]
) -> None:
    """Return if ranks, stages and micro-batches are as many as the schedule has."""
    if schedule.world_size != comm.world_size:
        raise ValueError(f"the schedule is for {schedule.world_size} ranks, there are {comm.world_size}")
    own = sorted({operation.stage for operation in schedule.ranks[comm.rank]})
    if sorted(stages) != own:
        raise ValueError(f"rank {comm.rank} has stages {own} in the schedule, got {sorted(stages)}")
    if len(inputs) != schedule.micro_batches:
        raise ValueError(f"the schedule has {schedule.micro_batches} micro-batches, got {len(inputs)} inputs")
