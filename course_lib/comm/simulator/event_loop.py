"""simulate(): a program on any number of ranks, on a virtual clock that gives everyone the same result."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from course_lib.comm.collective import Calls, CollectiveCall, progress_of
from course_lib.comm.devices import accelerator, device_of, moved, on_accelerator
from course_lib.comm.errors import CommError, Leftover, RankError, deadlock_error, tell_collectives, unmatched_error
from course_lib.comm.network import Network
from course_lib.comm.operation import Operation
from course_lib.comm.program import check_world_size, fixed_seeds, has_meta_tensor, pack, unpack
from course_lib.comm.report import Report
from course_lib.comm.simulator.communicator import (
    FirstCommunicator,
    ProgramCommunicator,
    SimulatedCommunicator,
    Stream,
)
from course_lib.comm.simulator.greenlets import GreenletRanks
from course_lib.comm.simulator.process_state import collecting_later, one_at_a_time
from course_lib.comm.simulator.random_numbers import RankNumbers
from course_lib.comm.simulator.switching import RankStopped, Switching
from course_lib.comm.simulator.thread_state import callers_settings
from course_lib.comm.simulator.threads import ThreadRanks
from course_lib.comm.source_location import SourceLocation, locate
from course_lib.comm.trace import Trace, Waits, merged
from course_lib.comm.tracebacks import cause_text, explain, is_of_the_call
from course_lib.comm.wire import Wire, of_two_carriers, one_without_payload

__all__ = ["simulate"]

_MAX_THREADS = 256
_META = "an argument is a meta tensor"
_UNDECIDED = "rank 0 did not begin with a message of a meta tensor"


def simulate(
    program: Callable[..., Any],
    world_size: int = 4,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    network: Network | None = None,
    ranks: str = "auto",
    device: str | None = None,
) -> Report:
    """Run `program(comm, *args, **kwargs)` on every rank of a simulated network.

    Messages and results are real, time is virtual: only messages (as `network` says) and `comm.compute` take any.
    Equal inputs give an equal trace, to the last bit. Every rank works on its own copy of program and arguments, and
    draws from torch the numbers that it draws in `run`. The caller's own random numbers go on undisturbed.

    Simulations in several threads take turns, for random numbers are the whole process's. (So a program waits in vain
    for a thread of its own that simulates.)

    With device="gpu" rank r has the r-th accelerator for itself, as `comm.device`. Its arguments' tensors and modules
    lie there, and results come back on the CPU. A message from one device to another is a copy; one between a device
    and the CPU is refused, because NCCL would wait for ever.

    Three things simulated ranks share, and real ones do not: the generators of numpy and random, seeded with 0 (and,
    where messages are meta tensors, torch's after the first one), what an imported module keeps in its globals, and
    what torch keeps for the whole process, such as its default dtype (afterwards it is the caller's again).

    Args:
        ranks: "greenlets" (fast, thousands of ranks, no communication inside a backward pass), "threads" (anything
            that torch can do) or "auto": greenlets for more than 256 ranks, and where an argument is a meta tensor or
            rank 0 begins with a message of one; threads otherwise. The report's `backend` says which, and why.
        device: "cpu", "gpu" or "auto" (a GPU where there is one); None: what COURSE_DEVICE says, else "cpu".

    Raises:
        DeadlockError: at once, with who waits for whom and the line of each.
        UnmatchedError: if messages are left over when all ranks have finished.
        MismatchError: if the two sides of a message disagree about dtype, shape or kind of device.
        RankError: if the program raises on a rank.
        TransportError: if the program cannot be copied, or a rank returns a generator.

    >>> simulate(lambda comm: comm.rank * 10, world_size=3).results
    [0, 10, 20]
    """
    world_size = check_world_size(world_size)
    packed = pack(program, args, kwargs)
    if ranks not in ("auto", "greenlets", "threads"):
        raise ValueError(f'ranks must be "auto", "greenlets" or "threads", got {ranks!r}')
    why, called_at = "", locate()
    accelerated = on_accelerator(device)
    if ranks == "auto":
        ranks, why = _choose_stacks(world_size, has_meta_tensor(args, kwargs))
    with one_at_a_time(), collecting_later(), fixed_seeds(), callers_settings():
        devices = [device_of(rank, accelerated) for rank in range(world_size)]
        return Simulation(packed, devices, network or Network(), ranks, why, called_at).report()


def _choose_stacks(world_size: int, has_meta_argument: bool) -> tuple[str, str]:
    """What the ranks begin on if nobody has said so, and why."""
    if has_meta_argument:
        return "greenlets", _META
    if world_size > _MAX_THREADS:
        return "greenlets", f"more than {_MAX_THREADS} ranks"
    return "threads", _UNDECIDED


class Simulation:
    """Ranks, the wire and the virtual clock of one run.

    Args:
        devices: each rank's own.
        ranks: "greenlets" or "threads".
        called_at: the line that called `simulate`.
        why: the reason for that, in words; threads that are `_UNDECIDED` become greenlets if rank 0, before any other
            rank has begun, posts a message of a meta tensor.
    """

    def __init__(
        self,
        packed: bytes,
        devices: Sequence[torch.device],
        network: Network,
        ranks: str,
        why: str,
        called_at: SourceLocation,
    ) -> None:
        self.network, self.devices = network, devices
        self._on_two_kinds = accelerator()[1] > 0  # whether tensors may lie on two kinds of device
        self.world_size = world_size = len(devices)
        self._called_at = called_at
        self.wire = Wire(world_size, network)
        self.programs = Stream(self.wire, [], Waits(), Calls())
        self.started = Stream(self.wire.sibling(), [], Waits(), Calls("started"))
        self.now_s = 0.0
        self.results: list[Any] = [None] * world_size
        self._ranks = [ProgramCommunicator(self, rank) for rank in range(world_size)]
        self._why, self.undecided = why, why == _UNDECIDED
        if self.undecided:
            self._ranks[0] = FirstCommunicator(self, 0)
        self.comms: list[SimulatedCommunicator] = [*self._ranks]  # by stack
        self._ready = deque(range(world_size))  # stacks that can go on now: ranks, and functions they started
        self._asleep: dict[float, list[int]] = {}  # those that compute, by when they are done
        self._awake_s: list[float] = []  # these times, as a heap
        self._failure: BaseException | None = None
        self._packed = packed
        self.unfinished = world_size
        kind = GreenletRanks if ranks == "greenlets" else ThreadRanks
        self.switching: Switching = kind(world_size, self._run, self._next)
        self._numbers = RankNumbers(devices)
        self._numbers.keeps = why != _META

    def report(self) -> Report:
        """Run all ranks to their end, or raise what went wrong."""
        self.switching.run()
        if self._failure is not None or self.unfinished:
            error = self._failure or self._deadlock()
            self.switching.stop()
            if isinstance(error, CommError):
                tell_collectives(error, progress_of(self._calls(), self.world_size))
            raise error
        self._refuse_leftovers()
        while self.wire.next_end_s is not None:  # messages that nobody waited for
            self.wire.advance()
        spans = merged(self.programs.spans, self.started.spans)
        waits = merged(self.programs.waits, self.started.waits)
        trace = Trace(self.world_size, self.wire.take_messages(), spans, waits, self.now_s, self._calls())
        backend = f"simulator, {self.switching.word}" + (f" ({self._why})" if self._why else "")
        return Report(self.results, self.now_s, trace, "simulated", backend)

    def _calls(self) -> list[CollectiveCall]:
        return [*self.programs.calls, *self.started.calls]

    def decide(self, tensor: torch.Tensor) -> None:
        """Rank 0 posts its first message, of this tensor: go on with greenlets if they do."""
        self.undecided = False
        if not tensor.is_meta:
            self._why = "the first message carries data"
        elif isinstance(self.switching, ThreadRanks) and (greenlets := self.switching.to_greenlets()):
            self.switching, self._why = greenlets, "the first message is a meta tensor"
            self._numbers.keeps = False

    def _deadlock(self) -> CommError:
        """Who waits for whom; but if a started function raised and nobody heard of it yet, that."""
        for comm in self.comms:
            for work in comm.unjoined:
                if work.error is not None:
                    return work.error if isinstance(work.error, CommError) else self._error_of(comm.rank, work.error)
        kinds = {id(op): f"i{verb}" for verb, op in self._unmatched()}
        blocked = [comm for comm in self.comms if comm.waits_on is not None]
        pending = [(comm, comm.pending(kinds.get(id(comm.waits_on), ""))) for comm in blocked]
        programs = {comm.rank: what for comm, what in pending if comm.fiber < self.world_size}
        started = {comm.rank: what for comm, what in pending if comm.fiber >= self.world_size}
        finished = [comm.rank for comm in self._ranks if comm.finished]
        return deadlock_error(programs, finished, started)

    def program(self, rank: int) -> tuple[Any, ...]:
        """A rank's own copy of the program, its args and its kwargs."""
        program, args, kwargs = unpack(self._packed)
        if self.devices[rank].type == "cpu":
            return program, args, kwargs
        return program, moved(args, self.devices[rank]), moved(kwargs, self.devices[rank])

    def _run(self, fiber: int) -> None:
        comm = self.comms[fiber]
        self._numbers.enter(comm.rank)
        try:
            comm.live()
            self._numbers.leave(comm.rank)
            self.switching.refuse_ended()
        except RankStopped as stopped:
            stopped.take_back()
        except (CommError, KeyboardInterrupt) as error:
            self._fail(error)
        except BaseException as error:
            self._fail(self._error_of(comm.rank, error))

    def switch_from(self, comm: SimulatedCommunicator) -> None:
        """Let others run; returns when it is the turn of this one again."""
        if not self._numbers.keeps:
            self.switching.switch_from(comm.fiber)
            return
        self._numbers.leave(comm.rank)
        self.switching.switch_from(comm.fiber)
        self._numbers.enter(comm.rank)

    def _fail(self, error: BaseException) -> None:
        self._failure = self._failure or error
        self._ready.clear()
        self.switching.stop()

    def wake(self, comm: SimulatedCommunicator) -> None:
        """Let it go on when all that can go on now have had their turn."""
        self._ready.append(comm.fiber)

    def _next(self) -> int | None:
        """The stack whose turn it is, after moving the clock as far as needed; None if none can go on."""
        ready = self._ready
        while not ready:
            if self._failure is not None or not self._advance():
                return None
        return ready.popleft()

    def _advance(self) -> bool:
        """Move the clock to the next event and wake the ranks it concerns; False if there is none.

        Messages start when all that can happen at this moment has happened: the wire then knows all that is posted.
        """
        awake_s = self._awake_s[0] if self._awake_s else None
        try:
            message_s = self.wire.next_end_s if awake_s is None or awake_s > self.now_s else None
            if message_s is not None and (awake_s is None or message_s <= awake_s):
                self.now_s = message_s
                self._deliver(self.wire.advance())
                return True
        except CommError as error:  # two sides disagree; no rank is to blame more than another
            self._failure = error
            return False
        if awake_s is None:
            return False
        self.now_s = heapq.heappop(self._awake_s)
        self._ready.extend(self._asleep.pop(awake_s))
        return True

    def _deliver(self, ended: list[tuple[Any, Any]]) -> None:
        ready = self._ready
        for send, recv in ended:
            if recv.payload.is_meta is not send.payload.is_meta:
                raise one_without_payload(send, recv)
            if self._on_two_kinds and recv.payload.device.type != send.payload.device.type:
                raise of_two_carriers(send, recv)
            if not recv.payload.is_meta:
                recv.arrived = send.payload.detach().clone()
            for side in send, recv:
                comm = side.comm
                if comm.waits_on is side:
                    ready.append(comm.fiber)

    def sleep(self, comm: SimulatedCommunicator, seconds: float) -> None:
        """Let a rank be busy for `seconds` of virtual time."""
        awake_s = self.now_s + seconds
        if awake_s not in self._asleep:
            self._asleep[awake_s] = []
            heapq.heappush(self._awake_s, awake_s)
        self._asleep[awake_s].append(comm.fiber)
        self.switch_from(comm)

    def _unmatched(self) -> list[tuple[str, Operation]]:
        return self.wire.unmatched() + self.started.wire.unmatched()

    def _refuse_leftovers(self) -> None:
        left = [Leftover(f"i{verb}", op.rank, op.peer, op.location()) for verb, op in self._unmatched()]
        if left:
            raise unmatched_error(left)

    def _error_of(self, rank: int, error: BaseException) -> RankError:
        """The error of a rank with the traceback of the program's own lines, ours left out."""
        where, details = explain(error)
        where = str(self._called_at) if is_of_the_call(error) else where
        return RankError(rank, type(error).__name__, cause_text(error), where, details)
