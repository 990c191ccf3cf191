"""The judge of one trial: routes every message, keeps the virtual clock, counts, and names a deadlock at once.

It reads frames from each rank until that rank waits or has ended. Only when all of them do is the earliest event of
the virtual clock acted on: a post, or the end of a message. So the outcome depends on the programs alone, never on how
fast this machine is. Nothing a rank sends is executed here; whatever is not a proper frame ends the trial.

`Patience` is the time-out of a trial: how long the judge listens to ranks that neither speak nor work. Real time would
be luck: a machine that is busy, or asleep, would cost an honest answer its points. So a stretch of time counts only if
the ranks used next to no processor time in it, where the system says how much that was; processor time has a limit of
its own. And it never counts as longer than the judge meant to listen, because the judge itself may have been paused.
"""

from __future__ import annotations

import selectors
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from course_lib.comm.errors import MismatchError, deadlock_error
from course_lib.comm.trace import Trace
from course_lib.comm.wire import Wire
from course_lib.grading.exercise import Exercise, Failure, refused_dtype
from course_lib.grading.judge import requests
from course_lib.grading.judge.launcher import RankProcess
from course_lib.grading.judge.perturb import Perturbation
from course_lib.grading.judge.requests import Peer, Posted, StopTrial
from course_lib.grading.sandbox.frames import Frame, FrameError, pack

SLICE_S = 0.5  # that the judge listens before it looks whether the ranks work
WORKING_SHARE = 0.01  # of a slice on a processor; a rank that gets less shares its core with a hundred others
CEILING = 6  # times the limit: the most real time of a trial, whatever the ranks do


class Patience:
    """Listens for up to `limit_s` in which nothing happens.

    Args:
        used_s: processor time that the ranks have used so far, all together; None where the system does not say.
    """

    def __init__(self, limit_s: float, used_s: Callable[[], float | None]) -> None:
        self.limit_s, self._used_s = limit_s, used_s
        self.idle_s = self.listened_s = self._last_s = 0.0

    @property
    def counted_s(self) -> float:
        """How much of its time counts: all that was idle, and of the rest as much as a trial may take of it."""
        return max(self.idle_s, self.listened_s / CEILING)

    @property
    def exhausted(self) -> bool:
        """Whether it has listened for long enough."""
        return self.idle_s >= self.limit_s or self.listened_s >= CEILING * self.limit_s

    def select(self, selector: selectors.BaseSelector) -> list[tuple[selectors.SelectorKey, int]]:
        """What is ready; empty after a slice in which nothing was."""
        began = time.monotonic()
        events = selector.select(SLICE_S)
        passed_s = min(time.monotonic() - began, SLICE_S)
        self.listened_s += passed_s
        if not events and not self._worked():
            self.idle_s += passed_s
        return events

    def _worked(self) -> bool:
        used_s = self._used_s()
        if used_s is None:
            return False
        more_s, self._last_s = used_s - self._last_s, used_s
        return more_s >= WORKING_SHARE * SLICE_S


MAX_POSTS = 4_000  # sends and receives of one rank in one trial; honest answers need some hundreds at most
MANY = 1_000  # messages, too many for a rank that is merely busy
MAX_WAITING_BYTES = 64 << 20  # payload that has been sent and not yet been waited for, of all ranks together


@dataclass
class Verdict:
    """What a trial left: each rank's RESULT (None if none came), the trace, who was downstream of a changed message,
    the first failure, and what became of the change."""

    results: list[Any]
    trace: Trace
    downstream: set[int]
    failure: Failure | None = None
    change: Perturbation | None = None


class Judge:
    """One trial over these ranks. `run` gives the verdict; it starts nothing and ends nothing."""

    def __init__(
        self,
        processes: list[RankProcess],
        exercise: Exercise,
        patience: Patience,
        change: Perturbation | None = None,
    ) -> None:
        self.ranks = [Peer(number, process) for number, process in enumerate(processes)]
        self.wire = Wire(len(processes), exercise.network)
        self.change = change
        self.clock = exercise.clock
        self.dtypes = exercise.dtypes
        self.now_s, self.patience = 0.0, patience
        self.delivered, self.waiting_bytes = 0, 0
        self.selector = selectors.DefaultSelector()

    def run(self, starts: list[Any], begins_s: Sequence[float] = ()) -> Verdict:
        """Send each rank its START value and judge until all have ended or one has failed.

        Args:
            begins_s: what each rank's clock shows at first, if not 0.
        """
        failure = None
        for rank, begin_s in zip(self.ranks, begins_s, strict=False):
            rank.clock_s = begin_s
        for rank, start in zip(self.ranks, starts, strict=True):
            rank.socket.setblocking(False)
            rank.outbox += pack(Frame.START, start)
            self.selector.register(rank.socket, selectors.EVENT_READ, rank)
        try:
            self._loop()
        except StopTrial as stop:
            failure = stop.failure
        except MismatchError as error:
            failure = Failure.of(error, "mismatch")
        finally:
            self.selector.close()
        trace = Trace(len(self.ranks), self.wire.messages, seconds=self.now_s)
        downstream = {rank.rank for rank in self.ranks if rank.tainted}
        return Verdict([rank.result for rank in self.ranks], trace, downstream, failure, self.change)

    def _loop(self) -> None:
        while True:
            while any(rank.running for rank in self.ranks):
                self._listen()
            if not self._next_event():
                break
        blocked = {rank.rank: rank for rank in self.ranks if rank.waits_on is not None}
        if blocked:
            pending = {number: rank.pending() for number, rank in blocked.items()}
            finished = [rank.rank for rank in self.ranks if rank.ended]
            raise StopTrial(Failure.of(deadlock_error(pending, finished), "deadlock"))
        self._refuse_leftovers()

    # Frames

    def _listen(self) -> None:
        """Take what running ranks say, and hand out what waits for them, until the clock runs out."""
        for rank in self.ranks:
            if rank.running:
                self._heed(rank)
            self._watch(rank)
        if not any(rank.running for rank in self.ranks):
            return
        if self.patience.exhausted:
            rank = next(rank for rank in self.ranks if rank.running)
            limit_s = self.patience.limit_s
            text = f"rank {rank.rank} had neither finished nor said anything after {limit_s:g} s"
            if self.delivered > MANY:
                text = f"after {limit_s:g} s and {self.delivered} messages the ranks still send: an endless loop?"
            raise StopTrial(Failure("timeout", text, rank.rank))
        for key, events in self.patience.select(self.selector):
            if events & selectors.EVENT_WRITE:
                key.data.write()
            if events & selectors.EVENT_READ:
                key.data.read()

    def _watch(self, rank: Peer) -> None:
        """Wait for what this rank says while it runs, and for room to tell it what it waits for."""
        interest = (selectors.EVENT_READ if rank.running else 0) | (selectors.EVENT_WRITE if rank.outbox else 0)
        known = rank.socket in self.selector.get_map()
        if interest and known:
            self.selector.modify(rank.socket, interest, rank)
        elif interest:
            self.selector.register(rank.socket, interest, rank)
        elif known:
            self.selector.unregister(rank.socket)

    def _heed(self, rank: Peer) -> None:
        """Act on the frames that have come from a rank, up to the one that makes it wait."""
        while rank.running:
            try:
                frame = rank.next_frame()
                if frame is None:
                    return
                self._act(rank, *frame)
            except (FrameError, ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError) as error:
                text = f"rank {rank.rank} sent the judge something that is no proper frame ({str(error)[:80]})"
                raise StopTrial(Failure("judge", text, rank.rank)) from None

    def _act(self, rank: Peer, kind: int, value: Any) -> None:
        # Whoever speaks has read what it was told: else its answers would pile up in the judge's memory.
        requests.demand(not rank.outbox)
        if kind == Frame.SEND:
            operation = requests.send(rank.rank, len(self.ranks), value)
            wrong = refused_dtype(self.dtypes, operation.payload, rank.rank, operation.peer)
            if wrong:
                raise StopTrial(Failure("dtype", f"{wrong} ({operation.where})", rank.rank))
            self._keep(operation.payload.nbytes, rank)
            self._post(rank, operation)
        elif kind == Frame.RECV:
            self._post(rank, requests.receive(rank.rank, len(self.ranks), value))
        elif kind == Frame.WAIT:
            rank.waits_on = rank.operations[value[0]]
            if rank.waits_on.done:
                self._wake(rank)
        elif kind == Frame.COMPUTE:
            rank.clock_s += requests.compute_seconds(value) * self.clock
        elif kind == Frame.RESULT:
            rank.result, rank.ended = requests.result(value), True
        elif kind == Frame.ERROR:
            raise StopTrial(requests.failure_of(rank.rank, value))
        else:
            raise FrameError(f"kind {kind}")

    def _keep(self, nbytes: int, rank: Peer) -> None:
        """Payload that waits for its receiver, in the judge's memory."""
        self.waiting_bytes += nbytes
        if self.waiting_bytes > MAX_WAITING_BYTES:
            text = f"rank {rank.rank} sent, and more than {MAX_WAITING_BYTES >> 20} MiB wait for a receiver"
            raise StopTrial(Failure("flood", text, rank.rank))

    def _post(self, rank: Peer, operation: Posted) -> None:
        requests.demand(operation.handle not in rank.operations)
        rank.posted += 1
        if rank.posted > MAX_POSTS:
            where = operation.where
            text = f"rank {rank.rank} posted more than {MAX_POSTS} messages, the last in {where}: an endless loop?"
            raise StopTrial(Failure("flood", text, rank.rank))
        operation.ready_s, operation.tainted = rank.clock_s, rank.tainted
        rank.operations[operation.handle] = operation
        rank.posts.append(operation)

    # The virtual clock

    def _next_event(self) -> bool:
        """Act on the earliest event; False if there is none. Messages start when all that is posted then is posted."""
        ready_s, number = min(
            ((rank.posts[0].ready_s, rank.rank) for rank in self.ranks if rank.posts), default=(None, 0)
        )
        if ready_s is not None and ready_s <= self.now_s:
            operation = self.ranks[number].posts.popleft()
            wire = self.wire.channel(operation.channel) if operation.channel else self.wire
            (wire.send if operation.verb == "send" else wire.recv)(operation, self.now_s)
            return True
        end_s = self.wire.next_end_s
        if end_s is not None and (ready_s is None or end_s <= ready_s):
            self.now_s = end_s
            for send, recv in self.wire.advance():
                assert isinstance(send, Posted)
                assert isinstance(recv, Posted)
                self._deliver(send, recv)
        elif ready_s is not None:
            self.now_s = ready_s
        else:
            return False
        return True

    def _deliver(self, send: Posted, recv: Posted) -> None:
        data = send.payload.data
        if self.change is not None:
            data = self.change.passing(self.delivered, send, recv)
        self.delivered += 1
        recv.payload.data, send.payload.data = data, None
        recv.tainted = recv.tainted or send.tainted
        for side in (send, recv):
            rank = self.ranks[side.rank]
            if rank.waits_on is side:
                self._wake(rank)

    def _wake(self, rank: Peer) -> None:
        operation = rank.waits_on
        assert operation is not None
        rank.waits_on = None
        rank.clock_s = max(rank.clock_s, operation.end_s)
        self.wire.steps_seen[rank.rank] = max(self.wire.steps_seen[rank.rank], operation.step)
        payload = operation.payload if operation.verb == "recv" else None
        self.waiting_bytes -= payload.nbytes if payload else 0
        rank.tainted = rank.tainted or (operation.verb == "recv" and operation.tainted)
        rank.outbox += pack(Frame.DONE, [operation.handle, operation.source, payload, rank.clock_s])
        operation.payload.data = None
        rank.write()

    def _refuse_leftovers(self) -> None:
        left = [f"rank {op.rank}: i{verb} {op.peer}, {op.where}" for verb, op in self.wire.unmatched()[:4]]
        if left:
            text = "the program ended while messages waited for their other side: " + "; ".join(left)
            raise StopTrial(Failure("unmatched", text, self.wire.unmatched()[0][1].rank))
