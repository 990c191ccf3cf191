"""What crosses between the ranks of a pipeline, and a box on each rank that takes it in.

Between two ranks messages meet in the order in which they are sent, and both ends know that order: it stands in the
schedule. So the receiver always has the next one under way while it works, and needs no names on messages.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable

import torch

from course_lib.comm import Communicator, Work
from course_lib.pipeline.schedule import Operation, Schedule

__all__ = ["Inbox", "receiver_of", "sends_to"]


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


class Inbox:
    """Takes in what other ranks send, one message ahead from each of them.

    `shape_of(operation)` is the shape of what that operation of this rank receives.
    """

    def __init__(
        self,
        comm: Communicator,
        schedule: Schedule,
        shape_of: Callable[[Operation], tuple[int, ...]],
        dtype: torch.dtype,
    ) -> None:
        self._comm, self._shape_of, self._dtype = comm, shape_of, dtype
        self._coming = {src: deque(operations) for src, operations in sends_to(schedule, comm.rank).items()}
        self._under_way: dict[int, tuple[Operation, torch.Tensor, Work]] = {}
        self._arrived: dict[Operation, torch.Tensor] = {}
        self._source = {operation: src for src, operations in self._coming.items() for operation in operations}
        for src in self._coming:
            self._post(src)

    def take(self, operation: Operation) -> torch.Tensor | None:
        """What has been sent for this operation, or None if it comes from this rank itself or from nowhere."""
        if operation not in self._source:
            return None
        src = self._source[operation]
        while operation not in self._arrived:
            wanted_by, tensor, work = self._under_way.pop(src)
            self._post(src)  # before the wait, while there is nothing to compute
            work.wait()
            self._arrived[wanted_by] = tensor
        return self._arrived.pop(operation)

    def _post(self, src: int) -> None:
        """Begin to receive the next message from a rank."""
        if self._coming[src]:
            operation = self._coming[src].popleft()
            tensor = torch.empty(self._shape_of(operation), dtype=self._dtype)
            self._under_way[src] = operation, tensor, self._comm.irecv(tensor, src)
