"""One stream for each rank: what it has started runs in the order of the starts, and at once only in a batch."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from course_lib.comm.errors import JOIN, Pending
from course_lib.comm.operation import Operation
from course_lib.comm.wire import Wire

if TYPE_CHECKING:
    from course_lib.comm.communicator import Started
    from course_lib.comm.simulator.event_loop import Simulation
    from course_lib.comm.simulator.nccl import NcclStarted

__all__ = ["Batch", "OrderedWire", "RankStream"]


class Queued(NamedTuple):
    """One side of a message, before it is on the wire. `verb` is send or recv."""

    verb: str
    wire: Wire
    operation: Operation


class RankStream:
    """The batches of one rank, and the functions that it started, in the order of their start.

    An operation that stands alone is a batch of one. A batch is put on the wire when all that was started before it has
    ended, and it ends with its last message.

    Attributes:
        batches: how many `comm.batch()` the rank is in; what it posts there is collected.
        when_empty: called when the last entry has ended.
    """

    __slots__ = ("_collected", "_entries", "_simulation", "batches", "when_empty")

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self._entries: deque[list[Queued] | NcclStarted] = deque()
        self._collected: list[Queued] = []
        self.batches = 0
        self.when_empty: Callable[[], None] | None = None

    @property
    def empty(self) -> bool:
        """True if all that was started has ended."""
        return not self._entries

    def post(self, queued: Queued) -> None:
        """Add an operation to the batch in which the rank is, or as one of its own."""
        if hasattr(queued.operation, "where"):
            queued.operation.order = -1  # others may put it on the wire: its line is known, and not on their stack
        self._collected.append(queued)
        if not self.batches:
            self.start()

    def start(self) -> None:
        """Add what has been collected as one batch."""
        if self._collected:
            batch, self._collected = self._collected, []
            self._add(batch)

    def run(self, function: NcclStarted) -> None:
        """Add a function that the rank has started."""
        self.start()
        self._add(function)

    def _add(self, entry: list[Queued] | NcclStarted) -> None:
        self._entries.append(entry)
        if len(self._entries) == 1:
            self._begin(entry)

    def _begin(self, entry: list[Queued] | NcclStarted) -> None:
        if not isinstance(entry, list):
            entry.begin()
            return
        for verb, wire, operation in entry:
            (wire.send if verb == "send" else wire.recv)(operation, self._simulation.now_s)

    def message_ended(self) -> None:
        """One of the rank's messages has ended: if its batch has, the next entry begins."""
        batch = self._entries[0] if self._entries else None
        if isinstance(batch, list) and all(each.operation.done for each in batch):
            for _, wire, operation in batch:
                wire.steps_seen[operation.rank] = max(wire.steps_seen[operation.rank], operation.step)
            self.go_on()

    def go_on(self) -> None:
        """The first entry has ended: the next one begins."""
        self._entries.popleft()
        if self._entries:
            self._begin(self._entries[0])
        elif self.when_empty is not None:
            self.when_empty()

    def queued(self) -> Iterator[Queued]:
        """What is not on the wire yet."""
        for batch in list(self._entries)[1:]:
            yield from batch if isinstance(batch, list) else ()

    def stands_at(self, wanted: Operation | Started | None = None) -> Pending | None:
        """What the rank's first entry waits in; None if there is none, or if `wanted` belongs to it."""
        entry = self._entries[0] if self._entries else None
        if entry is None:
            return None
        if not isinstance(entry, list):
            return None if entry.work is wanted else Pending(JOIN, None, str(entry.work.location))
        if any(each.operation is wanted for each in entry):
            return None
        verb, _, operation = next(each for each in entry if not each.operation.done)
        return Pending(f"i{verb}", operation.peer, operation.location())


class OrderedWire:
    """The wire as one rank has it: what it posts goes through its stream.

    Where the rank has an accelerator, tensors of the CPU do not: there Gloo carries them.
    """

    __slots__ = ("_wire", "stream")

    def __init__(self, wire: Wire, stream: RankStream) -> None:
        self._wire, self.stream = wire, stream

    @property
    def steps_seen(self) -> list[int]:
        return self._wire.steps_seen

    def channel(self, name: object) -> OrderedWire:
        """The wire of that name, with the same stream."""
        return OrderedWire(self._wire.channel(name), self.stream)

    def send(self, operation: Any, at_s: float) -> None:
        """Post a send."""
        if operation.payload.device.type == "cpu" != operation.comm.device.type:
            self._wire.send(operation, at_s)
        else:
            self.stream.post(Queued("send", self._wire, operation))

    def recv(self, operation: Any, at_s: float) -> None:
        """Post a receive.

        Raises:
            ValueError: if it names no sender.
        """
        if operation.payload.device.type == "cpu" != operation.comm.device.type:
            self._wire.recv(operation, at_s)
            return
        if operation.peer is None:
            raise ValueError("NCCL cannot receive from anyone: name the sender, as in comm.recv(tensor, src=1)")
        self.stream.post(Queued("recv", self._wire, operation))


class Batch:
    """A stretch in which what a rank posts is collected; it starts at the end of the outermost one."""

    __slots__ = ("_stream",)

    def __init__(self, stream: RankStream) -> None:
        self._stream = stream

    def __enter__(self) -> None:
        self._stream.batches += 1

    def __exit__(self, *_: object) -> None:
        self._stream.batches -= 1
        if not self._stream.batches:
            self._stream.start()
