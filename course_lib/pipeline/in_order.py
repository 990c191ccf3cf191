"""The boxes of a pipeline's rank where its sends and receives run one after the other, as NCCL has it.

A receive that is under way ahead of need, as `Inbox` has it, would there hold back every send behind it. So all ranks
post their messages in one order, which the schedule tells everybody: by when they are sent if all passes take equally
long. Then the first message of all that have not arrived is the first for its sender and for its receiver, and arrives.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import torch

from course_lib.comm import Communicator, Work
from course_lib.pipeline.channels import Inbox, Outbox, receiver_of, sends_to, told_dtype
from course_lib.pipeline.schedule import Operation, Schedule
from course_lib.pipeline.timing import OperationTimes, pipeline_timeline

__all__ = ["InboxInOrder", "boxes_of", "order_of_messages"]


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
