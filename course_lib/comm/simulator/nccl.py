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

from typing import Any, cast

from course_lib.comm.collective import BARRIER, Inside, label_of
from course_lib.comm.communicator import Started
from course_lib.comm.errors import Pending
from course_lib.comm.operation import Operation
from course_lib.comm.simulator.communicator import (
    FirstCommunicator,
    ProgramCommunicator,
    SimulatedCommunicator,
    SimulatedWork,
    StartedCommunicator,
)
from course_lib.comm.simulator.event_loop import Simulation
from course_lib.comm.simulator.rank_stream import Batch, OrderedWire, RankStream
from course_lib.comm.wire import Wire

__all__ = ["NcclProgram", "NcclSimulation", "NcclStarted"]


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

    def batch(self) -> Batch:
        return Batch(self.stream)

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

    def _run_beside(self, work: Started) -> None:
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

    def _unmatched(self) -> list[tuple[str, Operation]]:
        queued = [each for comm in self.comms for each in cast(_Ordered, comm).stream.queued()]
        return super()._unmatched() + [(verb, operation) for verb, _, operation in queued]

    def _left_behind(self) -> dict[int, Pending]:
        stands = {comm.rank: cast(_Ordered, comm).stream.stands_at() for comm in self._ranks if comm.finished}
        return {rank: what for rank, what in stands.items() if what is not None}
