"""Point-to-point messages of a pipeline: on each rank an inbox that receives ahead of need, and an outbox that sends.

Between two ranks messages meet in the order in which they are sent, and both ends know that order: it stands in the
schedule. So the receiver always has the next one under way while it works, and needs no names on messages. And the
sender knows from each message that comes back what must have arrived before, and keeps it no longer.

Where NCCL runs sends and receives one after the other, a receive ahead of need, as `Inbox` has it, would hold back
every send behind it. So with `InboxInOrder` all ranks
post their messages in one order, which the schedule tells everybody: by when they are sent if all passes take equally
long. Then the first message of all that have not arrived is the first for its sender and for its receiver, and arrives.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Sequence

import torch
from torch import nn

from course_lib.comm import Communicator, Work
from course_lib.pipeline.schedule import Operation, Schedule, inputs_of
from course_lib.pipeline.timing import OperationTimes, pipeline_timeline


def receiver_of(operation: Operation, schedule: Schedule) -> Operation | None:
    """The operation on another rank that needs what this one gives, or None."""
    kind, stage, micro_batch = operation
    after = {"F": stage + 1, "B": stage - 1, "W": -1}[kind]
    if not 0 <= after < schedule.stages:
        return None
    if schedule.rank_of(after, micro_batch) == schedule.rank_of(stage, micro_batch):
        return None
    return Operation(kind, after, micro_batch)


def sends_to(schedule: Schedule, dst: int) -> dict[int, list[Operation]]:
    """For each rank that sends to `dst`, the operations of `dst` that its messages are for, in the order of sending."""
    coming = defaultdict(list)
    for src, operations in enumerate(schedule.ranks):
        for operation in operations:
            receiver = receiver_of(operation, schedule)
            if receiver is not None and schedule.rank_of(receiver.stage, receiver.micro_batch) == dst:
                coming[src].append(receiver)
    return dict(coming)


def taken_before(schedule: Schedule, rank: int) -> dict[Operation, list[Operation]]:
    """For each operation of `rank` that a message comes for: what of `rank`'s its sender had taken before, and after
    the message in front.

    >>> from course_lib.pipeline.schedules import one_forward_one_backward
    >>> {str(a): [str(b) for b in sent] for a, sent in taken_before(one_forward_one_backward(2, 2), 0).items()}
    {'B0 of stage 0': ['F0 of stage 0'], 'B1 of stage 0': ['F1 of stage 0']}
    """
    shown: dict[Operation, list[Operation]] = {}
    for src in set(range(schedule.world_size)) - {rank}:
        taken: list[Operation] = []
        for operation in schedule.ranks[src]:
            needs = inputs_of(operation, schedule.stages)
            own = (need for need in needs if schedule.rank_of(need.stage, need.micro_batch) == rank)
            taken += [need for need in own if receiver_of(need, schedule) == operation]
            receiver = receiver_of(operation, schedule)
            if receiver is not None and schedule.rank_of(receiver.stage, receiver.micro_batch) == rank:
                shown[receiver], taken = taken, []
    return shown


class Inbox:
    """Takes in what other ranks send, a message ahead from each of them for each stage that this rank has.

    Args:
        shape_of: (operation of this rank) -> the shape of what it receives.
        dtype: of all that arrives; None: a byte tells it before each message.
        device: where it is put.
    """

    def __init__(
        self,
        comm: Communicator,
        schedule: Schedule,
        shape_of: Callable[[Operation], tuple[int, ...]],
        dtype: torch.dtype | None,
        device: torch.device,
    ) -> None:
        self._comm = comm
        self._telling = comm.group(range(comm.world_size))  # what tells a dtype meets no message
        self._shape_of = shape_of
        self._dtype, self._device = dtype, device
        self._coming = {src: deque(operations) for src, operations in sends_to(schedule, comm.rank).items()}
        self._under_way: dict[int, deque[tuple[Operation, torch.Tensor, Work]]] = defaultdict(deque)
        self._arrived: dict[Operation, torch.Tensor] = {}
        self._source = {operation: src for src, operations in self._coming.items() for operation in operations}
        for src in [*self._coming] * max(1, schedule.stages // schedule.world_size):
            self._post(src)

    def take(self, operation: Operation) -> torch.Tensor | None:
        """What has been sent for this operation, or None if it comes from this rank itself or from nowhere."""
        if operation not in self._source:
            return None
        src = self._source[operation]
        while operation not in self._arrived:
            wanted_by, tensor, work = self._under_way[src].popleft()
            self._post(src)  # before the wait, while there is nothing to compute
            work.wait()
            if self._dtype is None:
                tensor = torch.empty(self._shape_of(wanted_by), dtype=_TOLD[int(tensor)], device=self._device)
                self._comm.recv(tensor, src)
            self._arrived[wanted_by] = tensor
        return self._arrived.pop(operation)

    def _post(self, src: int) -> None:
        """Begin to receive the next message from a rank."""
        if self._coming[src]:
            operation = self._coming[src].popleft()
            if self._dtype is None:
                tensor = torch.empty(1, dtype=torch.uint8, device=self._device)
                work = self._telling.irecv(tensor, src)
            else:
                tensor = torch.empty(self._shape_of(operation), dtype=self._dtype, device=self._device)
                work = self._comm.irecv(tensor, src)
            self._under_way[src].append((operation, tensor, work))


class Outbox:
    """Sends what other ranks need, and lets go of it as soon as a message from there shows that it has arrived.

    Neither waits for a receiver, which would change the schedule, nor keeps what it sent to the end of the step.

    Args:
        tells: whether a byte before each message tells its dtype.

    Attributes:
        peak: the most tensors that were on their way at once.
    """

    def __init__(self, comm: Communicator, schedule: Schedule, tells: bool = False) -> None:
        self._comm = comm
        self._telling = comm.group(range(comm.world_size)) if tells else None
        self._schedule = schedule
        self._shown = taken_before(schedule, comm.rank)
        self._under_way: dict[Operation, tuple[torch.Tensor, list[Work]]] = {}
        self.peak = 0

    def send(self, operation: Operation, given: torch.Tensor) -> bool:
        """Begin to send what an operation gave to the rank that needs it; False if none does."""
        receiver = receiver_of(operation, self._schedule)
        if receiver is None:
            return False
        given, dst = given.contiguous(), self._schedule.rank_of(receiver.stage, receiver.micro_batch)
        told = [] if self._telling is None else [_begin(self._telling, _code(given, operation), dst)]
        self._under_way[operation] = given, [*told, _begin(self._comm, given, dst)]
        self.peak = max(self.peak, len(self._under_way))
        return True

    def let_go(self, arrived: Operation) -> None:
        """Forget what must have arrived, now that the message for this operation is here."""
        for operation in self._shown.get(arrived, ()):
            self._end(operation)

    def wait(self) -> None:
        """Block until all that is left has arrived."""
        for operation in list(self._under_way)[::-1]:
            self._end(operation)

    def _end(self, operation: Operation) -> None:
        for work in self._under_way.pop(operation)[1]:
            work.wait()


def _begin(comm: Communicator, tensor: torch.Tensor, dst: int) -> Work:
    """Begin to send now, also where what is started outside of a batch begins with the next wait."""
    with comm.batch():
        return comm.isend(tensor, dst)


def told_dtype(code: torch.Tensor) -> torch.dtype:
    """The dtype that a byte tells."""
    return _TOLD[int(code)]


# What a byte can tell: its value is a place here.
_TOLD = (torch.float32, torch.bfloat16, torch.float16, torch.float64, torch.complex64, torch.complex128)


def _code(given: torch.Tensor, operation: Operation) -> torch.Tensor:
    if given.dtype not in _TOLD:
        raise TypeError(f"a stage must give numbers that have gradients, {operation} gives {given.dtype}")
    return torch.tensor([_TOLD.index(given.dtype)], dtype=torch.uint8, device=given.device)


def wire_of(modules: Iterable[nn.Module], inputs: Sequence[torch.Tensor]) -> tuple[torch.dtype | None, torch.device]:
    """The dtype and the device of what arrives: the parameters', or without any the inputs', whose dtype counts unless
    they are tokens.

    No dtype where that cannot be known before, but every rank knows that it cannot: under autocast, and where there are
    numbers of 16 bits, beside which norms stay in 32. Then each message tells it.
    """
    given = [parameter for module in modules for parameter in module.parameters()]
    device = next((each.device for each in [*given, *inputs]), torch.get_default_device())
    given = given or [each for each in inputs if each.is_floating_point()]
    if torch._C._is_any_autocast_enabled() or any(each.dtype.itemsize < 4 for each in given):
        return None, device
    real = [each for each in given if not each.is_complex()] or given  # complex parameters mostly stay inside
    return real[0].dtype if given else torch.get_default_dtype(), device


def order_of_messages(schedule: Schedule) -> list[Operation]:
    """The operations whose results go to another rank, in the order in which they are sent.

    >>> from course_lib.pipeline.schedules import one_forward_one_backward
    >>> [str(operation) for operation in order_of_messages(one_forward_one_backward(2, 2))]
    ['F0 of stage 0', 'F1 of stage 0', 'B0 of stage 1', 'B1 of stage 1']
    """
    ends_s = {}
    for timed in pipeline_timeline(schedule, OperationTimes()).ranks:
        call: list[Operation] = []
        for operation, _, end_s in timed:
            call.append(operation)
            if operation not in schedule.together:
                ends_s.update(dict.fromkeys(call, end_s))
                call = []
    return sorted((op for op in ends_s if receiver_of(op, schedule) is not None), key=lambda op: ends_s[op])


class InboxInOrder:
    """Begins to receive what is sent before this rank's next message, or what this rank needs now, and nothing else.

    Takes what `Inbox` takes.
    """

    def __init__(
        self,
        comm: Communicator,
        schedule: Schedule,
        shape_of: Callable[[Operation], tuple[int, ...]],
        dtype: torch.dtype | None,
        device: torch.device,
    ) -> None:
        self._comm, self._shape_of = comm, shape_of
        self._telling = comm.group(range(comm.world_size))
        self._dtype, self._device = dtype, device
        places = {receiver_of(sent, schedule): place for place, sent in enumerate(order_of_messages(schedule))}
        coming = sends_to(schedule, comm.rank).items()
        self._coming = deque(sorted((places[each], src, each) for src, operations in coming for each in operations))
        self._places = {operation: place for place, _, operation in self._coming}
        self._under_way: dict[Operation, tuple[torch.Tensor, Work]] = {}

    def take(self, operation: Operation) -> torch.Tensor | None:
        """What has been sent for this operation, or None if it comes from this rank itself or from nowhere."""
        if operation not in self._places:
            return None
        self.begin_until(self._places[operation])
        tensor, work = self._under_way.pop(operation)
        work.wait()
        return tensor

    def begin_until(self, place: int) -> None:
        """Begin to receive what comes up to this place in the order of all messages."""
        while self._coming and self._coming[0][0] <= place:
            _, src, operation = self._coming.popleft()
            dtype = self._dtype
            if dtype is None:
                told = torch.empty(1, dtype=torch.uint8, device=self._device)
                self._telling.recv(told, src)
                dtype = told_dtype(told)
            tensor = torch.empty(self._shape_of(operation), dtype=dtype, device=self._device)
            self._under_way[operation] = tensor, self._comm.irecv(tensor, src)


class _OutboxInOrder(Outbox):
    """Sends when all that comes before is under way."""

    def __init__(self, comm: Communicator, schedule: Schedule, inbox: InboxInOrder, tells: bool) -> None:
        super().__init__(comm, schedule, tells)
        self._inbox = inbox
        self._places = {operation: place for place, operation in enumerate(order_of_messages(schedule))}

    def send(self, operation: Operation, given: torch.Tensor) -> bool:
        if operation in self._places:
            self._inbox.begin_until(self._places[operation])
        return super().send(operation, given)


def boxes_of(
    comm: Communicator,
    schedule: Schedule,
    shape_of: Callable[[Operation], tuple[int, ...]],
    dtype: torch.dtype | None,
    device: torch.device,
) -> tuple[Inbox | InboxInOrder, Outbox]:
    """What takes in on this rank, and what sends out; for the arguments see `Inbox`."""
    if not comm.in_order:
        return Inbox(comm, schedule, shape_of, dtype, device), Outbox(comm, schedule, tells=dtype is None)
    inbox = InboxInOrder(comm, schedule, shape_of, dtype, device)
    return inbox, _OutboxInOrder(comm, schedule, inbox, tells=dtype is None)
