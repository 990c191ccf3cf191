"""The event loop: ranks, the wire and the virtual clock of one simulation."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Sequence
from typing import Any

import torch

from course_lib.comm.collective import Calls, CollectiveCall, progress_of
from course_lib.comm.devices import accelerator, moved
from course_lib.comm.errors import (
    CommError,
    Leftover,
    Pending,
    RankError,
    deadlock_error,
    tell_collectives,
    unmatched_error,
)
from course_lib.comm.network import Network
from course_lib.comm.program import unpack, with_hint
from course_lib.comm.simulator.communicator import (
    FirstCommunicator,
    ProgramCommunicator,
    SimulatedCommunicator,
    Stream,
)
from course_lib.comm.simulator.stacks import GreenletRanks, RankStopped, Switching, ThreadRanks
from course_lib.comm.simulator.torch_state import RankNumbers
from course_lib.comm.source_location import SourceLocation, cause_text, explain, is_of_the_call
from course_lib.comm.trace import Report, Trace, Waits, merged
from course_lib.comm.wire import Wire, WireOperation, of_two_carriers, one_without_payload

META = "an argument is a meta tensor"
UNDECIDED = "rank 0 did not begin with a message of a meta tensor"


class Simulation:
    """Ranks, the wire and the virtual clock of one run.

    Args:
        devices: each rank's own.
        ranks: "greenlets" or "threads".
        called_at: the line that called `simulate`.
        why: the reason for that, in words; threads that are `UNDECIDED` become greenlets if rank 0, before any other
            rank has begun, posts a message of a meta tensor.
    """

    of_programs: type[ProgramCommunicator] = ProgramCommunicator
    of_the_first: type[FirstCommunicator] = FirstCommunicator
    under = "simulator"

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
        self._ranks = [self.of_programs(self, rank) for rank in range(world_size)]
        self._why, self.undecided = why, why == UNDECIDED
        if self.undecided:
            self._ranks[0] = self.of_the_first(self, 0)
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
        self._numbers.keeps = why != META

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
        backend = f"{self.under}, {self.switching.word}" + (f" ({self._why})" if self._why else "")
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
        """The deadlock error; or, if a started function raised and no program knows yet, that error."""
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
        return deadlock_error(programs, finished, started, self._left_behind())

    def _left_behind(self) -> dict[int, Pending]:
        """What of a rank is still under way though its program has ended, where others wait behind that."""
        return {}

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
        """Put it at the end of the queue of those that can go on."""
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

    def _unmatched(self) -> list[tuple[str, WireOperation]]:
        return self.wire.unmatched() + self.started.wire.unmatched()

    def _refuse_leftovers(self) -> None:
        left = [Leftover(f"i{verb}", op.rank, op.peer, op.location()) for verb, op in self._unmatched()]
        if left:
            raise unmatched_error(left)

    def _error_of(self, rank: int, error: BaseException) -> RankError:
        """The error of a rank with the traceback of the program's own lines, ours left out."""
        where, details = explain(error)
        where = str(self._called_at) if is_of_the_call(error) else where
        text = with_hint(cause_text(error), error, self._packed, self.devices[rank])
        return RankError(rank, type(error).__name__, text, where, details)
