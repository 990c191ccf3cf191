"""simulate(): a program on any number of ranks, on a virtual clock that gives everyone the same result."""

from __future__ import annotations

import gc
import sys
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, cast

import torch

from course_lib.comm.communicator import Communicator, Place, Work, place_of
from course_lib.comm.errors import CommError, Leftover, Pending, RankError, deadlock_error, unmatched_error
from course_lib.comm.network import Network
from course_lib.comm.program import check_world_size, fixed_seeds, has_meta_tensor, pack, unpack
from course_lib.comm.report import Report
from course_lib.comm.switching import GreenletRanks, RankStopped, ThreadRanks
from course_lib.comm.trace import Trace
from course_lib.comm.tracebacks import explain
from course_lib.comm.wire import Operation, Wire

__all__ = ["simulate"]

_MOST_THREADS = 256


def simulate(
    program: Callable[..., Any],
    world_size: int = 4,
    args: Sequence = (),
    kwargs: Mapping[str, Any] | None = None,
    network: Network | None = None,
    ranks: str = "auto",
) -> Report:
    """Run `program(comm, *args, **kwargs)` on every rank of a simulated network.

    Messages and results are real, time is virtual: only messages (as `network` says) and `comm.compute` take any.
    Equal inputs give an equal trace, to the last bit. Every rank works on its own copy of program and arguments;
    torch, numpy and random are seeded with 0 at the start, and the caller's own random numbers go on undisturbed.

    Two things simulated ranks share, and real ones do not: those random generators (let a rank that must draw its own
    numbers make a torch.Generator from `comm.rank`), and what an imported module keeps in its globals.

    Args:
        ranks: "greenlets" (fast, thousands of ranks, no communication inside a backward pass), "threads" (anything
            that torch can do) or "auto": greenlets for meta tensors and for more than 256 ranks, threads otherwise.

    Raises:
        DeadlockError: at once, with who waits for whom and the line of each.
        UnmatchedError: if messages are left over when all ranks have finished.
        MismatchError: if the two sides of a message disagree about dtype or shape.
        RankError: if the program raises on a rank.
        TransportError: if the program cannot be copied.

    >>> simulate(lambda comm: comm.rank * 10, world_size=3).results
    [0, 10, 20]
    """
    check_world_size(world_size)
    packed = pack(program, args, kwargs)
    if ranks == "auto":
        ranks = "greenlets" if has_meta_tensor(args, kwargs) or world_size > _MOST_THREADS else "threads"
    if ranks not in ("greenlets", "threads"):
        raise ValueError(f'ranks must be "auto", "greenlets" or "threads", got {ranks!r}')
    simulation = _Simulation(packed, world_size, network or Network(), ranks)
    collecting = gc.isenabled()
    gc.disable()  # millions of small objects that live until the end: collecting them only costs time
    try:
        with fixed_seeds(), torch.enable_grad():
            return simulation.report()
    finally:
        if collecting:
            gc.enable()


class _Simulation:
    """Ranks, the wire and the virtual clock of one run."""

    def __init__(self, packed: bytes, world_size: int, network: Network, ranks: str) -> None:
        self.network, self.world_size = network, world_size
        self.wire = Wire(world_size, network)
        self.now_s = 0.0
        self.spans: list[tuple] = []
        self.waits: list[tuple] = []
        self.results: list[Any] = [None] * world_size
        self.comms = [_SimulatedCommunicator(self, rank) for rank in range(world_size)]
        self._ready = deque(range(world_size))  # ranks that can go on now
        self._asleep: dict[float, list[int]] = {}  # ranks that compute, by when they are done
        self._failure: BaseException | None = None
        self._packed = packed
        self.unfinished = world_size
        switching = GreenletRanks if ranks == "greenlets" else ThreadRanks
        self.switching: GreenletRanks | ThreadRanks = switching(world_size, self._run_rank, self._next_rank)

    def report(self) -> Report:
        """Run all ranks to their end, or raise what went wrong."""
        self.switching.run()
        if self._failure is not None:
            raise self._failure
        if self.unfinished:
            kinds = {id(op): f"i{verb}" for verb, op in self.wire.unmatched()}
            blocked = [comm for comm in self.comms if comm.waits_on is not None]
            pending = {comm.rank: comm.pending(kinds.get(id(comm.waits_on), "")) for comm in blocked}
            finished = [comm.rank for comm in self.comms if comm.finished]
            self.switching.stop()
            raise deadlock_error(pending, finished)
        self._refuse_leftovers()
        while self.wire.next_end_s is not None:  # messages that nobody waited for
            self.wire.advance()
        trace = Trace(self.world_size, self.wire.messages, self.spans, self.waits, self.now_s)
        return Report(self.results, self.now_s, trace, "simulated", f"simulator, {type(self.switching).word}")

    def _run_rank(self, rank: int) -> None:
        comm = self.comms[rank]
        try:
            program, args, kwargs = unpack(self._packed)
            self.results[rank] = program(comm, *args, **kwargs)
            comm.finished = True
            self.unfinished -= 1
        except RankStopped:
            pass
        except (CommError, KeyboardInterrupt) as error:
            self._fail(error)
        except BaseException as error:
            self._fail(_rank_error(rank, error))

    def _fail(self, error: BaseException) -> None:
        self._failure = self._failure or error
        self._ready.clear()
        self._asleep.clear()
        self.switching.stop()

    def _next_rank(self) -> int | None:
        """The rank whose turn it is, after moving the clock as far as needed; None if none can go on."""
        ready = self._ready
        while not ready:
            if self._failure is not None or not self._advance():
                return None
        return ready.popleft()

    def _advance(self) -> bool:
        """Move the clock to the next event and wake the ranks it concerns; False if there is none."""
        message_s, awake_s = self.wire.next_end_s, min(self._asleep) if self._asleep else None
        if message_s is None and awake_s is None:
            return False
        if awake_s is None or (message_s is not None and message_s <= awake_s):
            self.now_s = cast(float, message_s)
            for send, recv in self.wire.advance():
                self._deliver(send, recv)
        else:
            self.now_s = awake_s
            self._ready.extend(self._asleep.pop(awake_s))
        return True

    def _deliver(self, send: Any, recv: Any) -> None:
        if not recv.payload.is_meta:
            recv.arrived = send.payload.detach().clone()
        if send.comm.waits_on is send:
            self._ready.append(send.rank)
        if recv.comm.waits_on is recv:
            self._ready.append(recv.rank)

    def sleep(self, comm: _SimulatedCommunicator, seconds: float) -> None:
        """Let a rank be busy for `seconds` of virtual time."""
        self._asleep.setdefault(self.now_s + seconds, []).append(comm.rank)
        self.switching.switch_from(comm.rank)

    def _refuse_leftovers(self) -> None:
        left = [Leftover(f"i{verb}", op.rank, op.peer, op.place()) for verb, op in self.wire.unmatched()]
        if left:
            raise unmatched_error(left)


class _SimulatedWork(Operation, Work):
    """An operation on the wire that is its own handle."""

    __slots__ = ("arrived", "comm")

    def __init__(self, comm: _SimulatedCommunicator, peer: int | None, tensor: torch.Tensor) -> None:
        self.comm = comm
        self.rank = comm.rank
        self.peer = peer
        self.payload = tensor
        frame = sys._getframe(2)
        self.where = frame.f_code, frame.f_lasti  # the words for it only if somebody asks
        self.done = False
        self.arrived: torch.Tensor | None = None  # what a receive gets when its rank waits for it, and not before

    def place(self) -> str:
        comm = self.comm
        if comm.waits_on is self:
            return comm.pending().where
        if comm._wire.is_newest(self):  # being posted right now: the student's line is on our own stack
            return str(place_of())
        return str(Place(self.where))

    def wait(self) -> bool:
        self.comm._wait(self, "wait")
        return True

    def source_rank(self) -> int:
        assert self.done, "source_rank() is known after wait()"
        return self.message.src


class _SimulatedCommunicator(Communicator):
    __slots__ = ("_sim", "_wire", "finished", "verb", "waits_on")

    def __init__(self, simulation: _Simulation, rank: int) -> None:
        self._sim, self._wire, self.rank = simulation, simulation.wire, rank
        self.world_size, self.network = simulation.world_size, simulation.network
        self.waits_on: Operation | None = None
        self.verb, self.finished = "", False

    def isend(self, tensor: torch.Tensor, dst: int) -> _SimulatedWork:
        self._check(tensor, dst, "dst")
        work = _SimulatedWork(self, dst, tensor)
        self._wire.send(work, self._sim.now_s)
        return work

    def irecv(self, tensor: torch.Tensor, src: int | None = None) -> _SimulatedWork:
        self._check(tensor, src, "src")
        work = _SimulatedWork(self, src, tensor)
        self._wire.recv(work, self._sim.now_s)
        return work

    def send(self, tensor: torch.Tensor, dst: int) -> None:
        self._wait(self.isend(tensor, dst), "send")

    def recv(self, tensor: torch.Tensor, src: int | None = None) -> int:
        work = self.irecv(tensor, src)
        self._wait(work, "recv")
        return work.message.src

    def _apart(self) -> AbstractContextManager[None]:
        return self._wire.apart()

    def now(self) -> float:
        return self._sim.now_s

    def compute(self, seconds: float, label: str = "compute") -> None:
        if not seconds >= 0:
            raise ValueError(f"seconds must be 0 or more, rank {self.rank} got {seconds}")
        start_s = self._sim.now_s
        self._sim.sleep(self, self._sim.network.compute_seconds(self.rank, seconds))
        self._record_span(label, start_s, self._sim.now_s)

    def pending(self, kind: str = "") -> Pending:
        """What this rank is blocked in, with the student's own line; `kind` is isend or irecv."""
        frame = self._sim.switching.frame_of(self.rank)
        verb = f"wait for {kind}" if self.verb == "wait" else self.verb
        return Pending(verb, self.waits_on.peer if self.waits_on else None, str(place_of(frame)))

    def _wait(self, work: _SimulatedWork, verb: str) -> None:
        sim = self._sim
        if not work.done:
            self.waits_on, self.verb, start_s = work, verb, sim.now_s
            sim.switching.switch_from(self.rank)
            self.waits_on = None
            sim.waits.append((self.rank, verb, start_s, sim.now_s))
        if work.arrived is not None:
            work.payload.detach().copy_(work.arrived)
            work.arrived = None
        step, seen = work.message.step, self._wire.steps_seen
        if step > seen[self.rank]:
            seen[self.rank] = step

    def _record_span(self, label: str, start_s: float, end_s: float) -> None:
        self._sim.spans.append((self.rank, label, start_s, end_s))


def _rank_error(rank: int, error: BaseException) -> RankError:
    """The error of a rank with the traceback of the program's own lines, ours left out."""
    return RankError(rank, type(error).__name__, str(error), *explain(error, __file__))
