"""The communicators of a simulated rank and of the functions that it starts, and the handles of its messages."""

from __future__ import annotations

import contextlib
import sys
from collections import deque
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from course_lib.comm.collective import Calls, Inside, Label, label_of
from course_lib.comm.communicator import Communicator, Peer, Started, Work
from course_lib.comm.devices import CPU, moved, receive
from course_lib.comm.errors import JOIN, Pending
from course_lib.comm.program import refuse_generators
from course_lib.comm.simulator.stacks import GreenletRanks, RankStopped
from course_lib.comm.source_location import SourceLocation, belongs_to_program, locate
from course_lib.comm.trace import WAIT_LABELS, Waits, pack_wait
from course_lib.comm.wire import Wire, WireOperation

if TYPE_CHECKING:
    from course_lib.comm.simulator.event_loop import Simulation

_LABELS = {label: number for number, label in enumerate(WAIT_LABELS)}


def _caller(frame: FrameType, otherwise: SourceLocation | None) -> tuple[CodeType, int]:
    """Where the program posted a message, as a SourceLocation's parts: that is made only if somebody asks for it."""
    at: FrameType | None = frame
    while at is not None and at.f_code is not _LIVE:
        if belongs_to_program(at.f_code.co_filename):
            return at.f_code, at.f_lasti
        at = at.f_back
    return otherwise or (frame.f_code, frame.f_lasti)


class Stream(NamedTuple):
    """The wire, spans, waits and calls of the programs; the functions that they start have a second set."""

    wire: Wire
    spans: list[tuple[Any, ...]]
    waits: Waits
    calls: Calls


class SimulatedWork(WireOperation, Work):
    """An operation on the wire that is its own handle. `where` is set if its rank may go on before it is matched."""

    __slots__ = ("arrived", "comm")

    def __init__(self, comm: SimulatedCommunicator, peer: int | None, tensor: torch.Tensor) -> None:
        self.comm = comm
        self.rank = comm.rank
        self.peer = peer
        self.payload = tensor
        self.done = False
        self.collective = comm.within
        self.arrived: torch.Tensor | None = None  # what a receive gets when its rank waits for it, and not before

    def location(self) -> str:
        comm = self.comm
        if comm.waits_on is self:
            return comm.pending().where
        if not hasattr(self, "order"):  # being posted right now: the student's line is on our own stack
            return str(locate(None, comm.started_at))
        return str(SourceLocation(self.where)) if hasattr(self, "where") else ""

    def wait(self) -> bool:
        self.comm._wait(self, "wait")
        return True

    def finish(self, verb: str) -> None:
        self.comm._wait(self, verb)

    def source_rank(self) -> int:
        if not self.done:
            raise RuntimeError("source_rank() is known after wait()")
        return self.source


class SimulatedCommunicator(Communicator):
    """A rank as its program sees it, or a function that it started."""

    __slots__ = (
        "_calls",
        "_is_ours",
        "_open_call",
        "_sim",
        "_spans",
        "_waits",
        "_where",
        "_wire",
        "fiber",
        "started_at",
        "unjoined",
        "verb",
        "waits_on",
        "within",
    )

    def __init__(self, simulation: Simulation, rank: int, stream: Stream, fiber: int) -> None:
        self._sim = simulation
        self.rank = rank
        self.fiber = fiber
        self._wire, self._spans, self._waits, self._calls = stream
        self.within: Label | None = None  # the collective to which what it posts belongs
        self._is_ours = False  # whether the library posts all of that, and the line of the program that asked for it
        self._where: tuple[Any, ...] | None = None
        self.world_size, self.network = simulation.world_size, simulation.network
        self._channel = ()
        self.waits_on: WireOperation | Started | None = None
        self.verb = ""
        self.started_at: SourceLocation | None = None  # for a started function: the line of its start
        self.unjoined: dict[Started, None] = {}  # what it started and has not waited for, in order

    _unwinding = RankStopped, KeyboardInterrupt

    @property
    def device(self) -> torch.device:
        return self._sim.devices[self.rank]

    def live(self) -> None:
        """Run the program, or the started function, to its end."""
        raise NotImplementedError

    def isend(self, tensor: torch.Tensor, dst: int) -> SimulatedWork:
        dst = self._check(tensor, dst, "dst")
        work = SimulatedWork(self, dst, tensor)
        frame = sys._getframe(1)
        inside = self.within is not None and self._is_ours
        work.where = self._where or (frame.f_code, frame.f_lasti) if inside else _caller(frame, self.started_at)
        (self._wire.channel(self._channel) if self._channel else self._wire).send(work, self._sim.now_s)
        return work

    def irecv(self, tensor: torch.Tensor, src: int | None = None) -> SimulatedWork:
        src = self._check(tensor, src, "src")
        work = SimulatedWork(self, src, tensor)
        frame = sys._getframe(1)
        inside = self.within is not None and self._is_ours
        work.where = self._where or (frame.f_code, frame.f_lasti) if inside else _caller(frame, self.started_at)
        (self._wire.channel(self._channel) if self._channel else self._wire).recv(work, self._sim.now_s)
        return work

    def send(self, tensor: torch.Tensor, dst: int) -> None:
        dst = self._check(tensor, dst, "dst")
        work = SimulatedWork(self, dst, tensor)
        (self._wire.channel(self._channel) if self._channel else self._wire).send(work, self._sim.now_s)
        self._wait(work, "send")

    def recv(self, tensor: torch.Tensor, src: int | None = None) -> int:
        src = self._check(tensor, src, "src")
        work = SimulatedWork(self, src, tensor)
        (self._wire.channel(self._channel) if self._channel else self._wire).recv(work, self._sim.now_s)
        self._wait(work, "recv")
        return work.source

    def collective(self, kind: str, name: str = "") -> Inside:
        return Inside(self, label_of(kind, name))

    def begin_collective(self, label: Label, is_ours: bool) -> None:
        """Note that a collective begins here; what one of the library posts is posted from this line."""
        at = SourceLocation(_caller(sys._getframe(1), self.started_at))
        self._is_ours, self._where = is_ours, None if at[0] is Inside.__enter__.__code__ else at
        self._open_call = self._calls.begin(self.rank, label, self._sim.now_s, at)

    def end_collective(self) -> None:
        """Note that the one that began last has ended."""
        self._calls.end(self._open_call, self._sim.now_s)

    def now(self) -> float:
        return self._sim.now_s

    def compute(self, seconds: float, label: str = "compute") -> None:
        self._check_seconds(seconds)
        start_s = self._sim.now_s
        self._sim.sleep(self, self._sim.network.compute_seconds(self.rank, seconds))
        self._record_span(label, start_s, self._sim.now_s)

    def pending(self, kind: str = "") -> Pending:
        """What this rank is blocked in, with the student's own line; `kind` is isend or irecv."""
        where, on = str(locate(self._sim.switching.frame_of(self.fiber), self.started_at)), self.waits_on
        if not isinstance(on, WireOperation):
            return Pending(JOIN, None, where)
        return Pending(f"wait for {kind}" if self.verb == "wait" else self.verb, on.peer, where)

    def _wait(self, work: SimulatedWork, verb: str) -> None:
        if not work.done:
            sim = self._sim
            self.waits_on = work
            self.verb = verb
            start_s = sim.now_s
            sim.switch_from(self)
            self.waits_on = None
            self._waits.rows += pack_wait(self.rank, _LABELS[verb], start_s, sim.now_s)
        if work.arrived is not None:
            receive(work.payload, work.arrived)
            work.arrived = None
        step, seen = work.step, self._wire.steps_seen
        if step > seen[self.rank]:
            seen[self.rank] = step

    def _record_span(self, label: str, start_s: float, end_s: float) -> None:
        self._spans.append((self.rank, label, start_s, end_s))


class ProgramCommunicator(SimulatedCommunicator):
    """A rank as its program sees it. It starts functions, each on a stack of its own, one after the other."""

    __slots__ = ("_started_queue", "finished")

    def __init__(self, simulation: Simulation, rank: int) -> None:
        super().__init__(simulation, rank, simulation.programs, rank)
        self.finished = False
        self._started_queue: deque[StartedCommunicator] = deque()  # started functions that have not ended

    def live(self) -> None:
        sim = self._sim
        program, args, kwargs = sim.program(self.rank)
        result = program(self, *args, **kwargs)
        for work in list(self.unjoined):
            self.started_at = work.location
            work.wait()
        refuse_generators(result, self.rank)
        if self.device is not CPU:
            result = moved(result, CPU)
        sim.results[self.rank], self.finished = result, True
        sim.unfinished -= 1

    def _run_started(self, work: Started) -> None:
        work.step = self._wire.steps_seen[self.rank]
        self.unjoined[work] = None
        self._started_queue.append(StartedCommunicator(self._sim, self, work))
        self._sim.comms.append(self._started_queue[-1])
        if len(self._started_queue) == 1:
            self._sim.wake(self._started_queue[0])

    def ended(self, work: Started) -> None:
        """The first of the started functions has ended: the next one begins, and who waits for it goes on."""
        work.ended.set()
        self._started_queue.popleft()
        if self._started_queue:
            self._sim.wake(self._started_queue[0])
        if self.waits_on is work:
            self._sim.wake(self)

    def _join(self, work: Started) -> None:
        sim, seen = self._sim, self._wire.steps_seen
        if not work.ended.is_set():
            self.waits_on = work
            self.verb = "wait"
            start_s = sim.now_s
            sim.switch_from(self)
            self.waits_on = None
            self._waits.rows += pack_wait(self.rank, _LABELS["wait"], start_s, sim.now_s)
        seen[self.rank] = max(seen[self.rank], work.step)
        self.unjoined.pop(work, None)


class FirstCommunicator(ProgramCommunicator):
    """Rank 0 as its program sees it. It begins alone, and its first message says which stacks suit the program."""

    __slots__ = ()

    def _check(self, tensor: torch.Tensor, peer: Peer, name: str) -> Peer:
        peer = super()._check(tensor, peer, name)
        if self._sim.undecided:
            self._sim.decide(tensor)
        return peer


class StartedCommunicator(SimulatedCommunicator):
    """The same rank as one of its started functions sees it."""

    __slots__ = ("_program", "_work")

    def __init__(self, simulation: Simulation, program: ProgramCommunicator, work: Started) -> None:
        super().__init__(simulation, program.rank, simulation.started, simulation.switching.add())
        self._program = program
        self._work = work
        self.started_at = work.location

    def live(self) -> None:
        work, seen = self._work, self._wire.steps_seen
        seen[self.rank] = max(seen[self.rank], work.step)
        one_thread = isinstance(self._sim.switching, GreenletRanks)  # which shares torch's grad mode
        with contextlib.nullcontext() if one_thread else torch.no_grad():
            work.run(self)
        work.step = seen[self.rank]
        self._program.ended(work)

    def _run_started(self, work: Started) -> None:
        raise RuntimeError(f"rank {self.rank}: a started function cannot start another one")


_LIVE = ProgramCommunicator.live.__code__  # below it there is no program
