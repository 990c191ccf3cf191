"""NCCL's rules in the simulator: what would hang there is a deadlock here.

- A send ends when it is received, and a receive names its sender.
- What a rank starts runs in one stream, in the order of the starts: sends, receives and started functions, whatever
  group they belong to. So collectives of two groups that two ranks call in two orders block each other.
- Only what stands in one `comm.batch()` runs at once. A collective of the library stands for one operation of NCCL's:
  what it posts until it waits is a batch of its own accord. So is each round of a barrier.

These are the rules that a program may rely on. Some programs that break them run all the same: NCCL buffers small
messages, and PyTorch gives two ranks that communicate outside of batches a communicator and a stream of their own,
unless the process group was given its device at the start.

Sources: NCCL's user guide, "Point-to-point communication" and "Using multiple NCCL communicators concurrently" (2.26:
the order in which operations are launched must be the same for all devices); PyTorch's documentation,
`torch.distributed.batch_isend_irecv`; PyTorch's issues 132852 (one stream a group, and one a pair of ranks) and 138074
(small messages pass), its pull request 154132 (one stream for all, with a device at the start); NCCL's issues 479 (a
send and a receive that are not grouped) and 783 (two streams give no guarantee).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, cast

from course_lib.comm.collective import BARRIER, Inside, label_of
from course_lib.comm.communicator import Started
from course_lib.comm.errors import JOIN, Pending
from course_lib.comm.simulator.communicator import (
    FirstCommunicator,
    ProgramCommunicator,
    SimulatedCommunicator,
    SimulatedWork,
    StartedCommunicator,
)
from course_lib.comm.simulator.event_loop import Simulation
from course_lib.comm.wire import Wire, WireOperation

# --- One stream for each rank: what it has started runs in the order of the starts, and at once only in a batch.


class Queued(NamedTuple):
    """One side of a message, before it is on the wire. `verb` is send or recv."""

    verb: str
    wire: Wire
    operation: WireOperation


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

    def stands_at(self, wanted: WireOperation | Started | None = None) -> Pending | None:
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


class StreamBatch:
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


# --- Ranks, started functions and a simulation that keep these rules.


class _Ordered(SimulatedCommunicator):
    """A rank, or a function that it started, whose operations run in one stream."""

    __slots__ = ()

    def __init__(self, simulation: Simulation, *args: Any) -> None:
        super().__init__(simulation, *args)
        self._wire = cast(Wire, OrderedWire(self._wire, RankStream(simulation)))

    @property
    def in_order(self) -> bool:
        return True

    @property
    def stream(self) -> RankStream:
        """What this rank has started."""
        return cast(OrderedWire, self._wire).stream

    def batch(self) -> StreamBatch:
        return StreamBatch(self.stream)

    def collective(self, kind: str, name: str = "") -> Inside:
        return _Together(self, label_of(kind, name))

    def pending(self, kind: str = "") -> Pending:
        """What this rank is blocked in, and what of its own stands before that."""
        return super().pending(kind)._replace(behind=self.stream.stands_at(self.waits_on))

    def _wait(self, work: SimulatedWork, verb: str) -> None:
        self.stream.start()
        super()._wait(work, verb)


class _Together(Inside):
    """A stretch in a collective; what the library posts there is a batch up to the next wait."""

    __slots__ = ("_batch",)

    def __enter__(self) -> None:
        super().__enter__()
        self._batch = self._comm.batch() if self.is_ours or self._label.kind == BARRIER else None
        if self._batch is not None:
            self._batch.__enter__()

    def __exit__(self, *raised: Any) -> None:
        if self._batch is not None:
            self._batch.__exit__(*raised)
        super().__exit__(*raised)


class NcclProgram(_Ordered, ProgramCommunicator):
    """A rank as its program sees it. What it starts has its place in the rank's stream."""

    __slots__ = ()

    def _run_started(self, work: Started) -> None:
        work.step = self._wire.steps_seen[self.rank]
        self.unjoined[work] = None
        function = NcclStarted(self._sim, self, work)
        self._sim.comms.append(function)
        self.stream.run(function)

    def ended(self, work: Started) -> None:
        """A started function has ended: who waits for it goes on, and what comes after it begins."""
        work.ended.set()
        if self.waits_on is work:
            self._sim.wake(self)


class NcclFirst(NcclProgram, FirstCommunicator):
    """Rank 0, which begins alone."""

    __slots__ = ()


class NcclStarted(_Ordered, StartedCommunicator):
    """A started function. It has a stream of its own, while it is the first in its rank's stream."""

    __slots__ = ()

    @property
    def work(self) -> Started:
        """The function."""
        return self._work

    def begin(self) -> None:
        """Let it run: what was started before it has ended."""
        self._work.step = max(self._work.step, self._program._wire.steps_seen[self.rank])
        self._sim.wake(self)

    def live(self) -> None:
        super().live()
        rest = cast(NcclProgram, self._program).stream.go_on
        if self.stream.empty:
            rest()
        else:
            self.stream.when_empty = rest


class NcclSimulation(Simulation):
    """A simulation whose ranks keep NCCL's rules."""

    of_programs, of_the_first = NcclProgram, NcclFirst
    under = "simulator under NCCL's rules"

    def _deliver(self, ended: list[tuple[Any, Any]]) -> None:
        super()._deliver(ended)
        for pair in ended:
            for side in pair:
                side.comm.stream.message_ended()

    def _unmatched(self) -> list[tuple[str, WireOperation]]:
        queued = [each for comm in self.comms for each in cast(_Ordered, comm).stream.queued()]
        return super()._unmatched() + [(verb, operation) for verb, _, operation in queued]

    def _left_behind(self) -> dict[int, Pending]:
        stands = {comm.rank: cast(_Ordered, comm).stream.stands_at() for comm in self._ranks if comm.finished}
        return {rank: what for rank, what in stands.items() if what is not None}
