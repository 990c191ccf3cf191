"""The judge of one trial: routes every message, keeps the virtual clock, counts, and names a deadlock at once.

It reads frames from each rank until that rank waits or has ended. Only when all of them do is the earliest event of
the virtual clock acted on: a post, or the end of a message. So the outcome depends on the programs alone, never on how
fast this machine is. Nothing a rank sends is executed here; whatever is not a proper frame ends the trial.
"""

from __future__ import annotations

import selectors
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from course_lib.comm.errors import MismatchError, deadlock_error
from course_lib.comm.network import Network
from course_lib.comm.trace import Trace
from course_lib.comm.wire import Wire
from course_lib.grading.exercise import Failure, refused_dtype
from course_lib.grading.judge.launcher import RankProcess
from course_lib.grading.judge.peer import Peer, Posted, StopTrial, demand, failure_of, plain
from course_lib.grading.judge.perturb import Perturbation
from course_lib.grading.sandbox.frames import Frame, FrameError, Payload, pack

__all__ = ["Judge", "Verdict"]

MOST_POSTS = 4_000  # sends and receives of one rank in one trial; honest answers need some hundreds at most
MANY = 1_000  # messages, too many for a rank that is merely busy
MOST_WAITING_BYTES = 128 << 20  # payload of one rank that nobody has received yet


@dataclass
class Verdict:
    """What a trial left: each rank's RESULT (None if none came), the trace, who was downstream of a changed message,
    and the first failure."""

    results: list[Any]
    trace: Trace
    downstream: set[int]
    failure: Failure | None = None


class Judge:
    """One trial over these ranks. `run` gives the verdict; it starts nothing and ends nothing."""

    def __init__(
        self,
        processes: list[RankProcess],
        network: Network,
        *,
        timeout_s: float,
        perturbation: Perturbation | None = None,
        clock: bool = False,
        dtypes: Sequence[torch.dtype] = (torch.float32,),
    ) -> None:
        self.ranks = [Peer(number, process) for number, process in enumerate(processes)]
        self.wire = Wire(len(processes), network)
        self.perturbation, self.clock, self.dtypes = perturbation, clock, dtypes
        self.now_s, self.deadline = 0.0, time.monotonic() + timeout_s
        self.timeout_s, self.delivered, self.turns = timeout_s, 0, len(processes)
        self.selector = selectors.DefaultSelector()

    def run(self, starts: list[Any]) -> Verdict:
        """Send each rank its START value and judge until all have ended or one has failed."""
        failure = None
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
        return Verdict([rank.result for rank in self.ranks], trace, downstream, failure)

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
        left = self.deadline - time.monotonic()
        if left <= 0:
            rank = next(rank for rank in self.ranks if rank.running)
            text = f"rank {rank.rank} had neither finished nor said anything after {self.timeout_s:g} s"
            if self.delivered > MANY:
                text = (
                    f"after {self.timeout_s:g} s and {self.delivered} messages the ranks still send: an endless loop?"
                )
            raise StopTrial(Failure("timeout", text, rank.rank))
        for key, events in self.selector.select(left):
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
        if kind == Frame.SEND:
            handle, dst, payload, where, apart = value
            demand(isinstance(payload, Payload))
            rank.waiting_bytes += payload.nbytes
            wrong = refused_dtype(self.dtypes, payload, rank.rank, self._peer(rank, dst))
            if wrong:
                raise StopTrial(Failure("dtype", f"{wrong} ({plain(where)})", rank.rank))
            self._post(rank, handle, self._peer(rank, dst), payload, where, "send", apart)
        elif kind == Frame.RECV:
            handle, src, like, shape, where, apart = value
            demand(len(shape) <= 8 and all(type(size) is int and 0 <= size < 2**40 for size in shape))
            peer = None if src == -1 else self._peer(rank, src)
            self._post(rank, handle, peer, Payload(like.dtype, tuple(shape), None), where, "recv", apart)
        elif kind == Frame.WAIT:
            rank.waits_on = rank.operations[value[0]]
            if rank.waits_on.done:
                self._wake(rank)
        elif kind == Frame.COMPUTE:
            demand(isinstance(value, float) and 0 <= value < 1e9)
            rank.clock_s += value if self.clock else 0.0
        elif kind == Frame.RESULT:
            demand(isinstance(value, list) and len(value) == 2)
            rank.result, rank.ended = value, True
        elif kind == Frame.ERROR:
            *texts, call = value
            demand(type(call) is int and 0 <= call < 10_000)
            cause, text, where = map(plain, texts)
            raise StopTrial(failure_of(rank.rank, cause, text, where, call))
        else:
            raise FrameError(f"kind {kind}")

    def _peer(self, rank: Peer, peer: Any) -> int:
        demand(type(peer) is int and 0 <= peer < len(self.ranks) and peer != rank.rank)
        return peer

    def _post(
        self, rank: Peer, handle: Any, peer: int | None, payload: Payload, where: Any, verb: str, apart: Any
    ) -> None:
        demand(type(handle) is int and handle not in rank.operations)
        demand(type(apart) is bool)
        demand(not apart or (peer is not None and payload.shape == (0,)))  # a barrier's messages say nothing
        rank.posted += 1
        if rank.posted > MOST_POSTS:
            text = (
                f"rank {rank.rank} posted more than {MOST_POSTS} messages, the last in {plain(where)}: an endless loop?"
            )
            raise StopTrial(Failure("flood", text, rank.rank))
        if rank.waiting_bytes > MOST_WAITING_BYTES:
            text = f"rank {rank.rank} sent more than {MOST_WAITING_BYTES >> 20} MiB that nobody has received"
            raise StopTrial(Failure("flood", text, rank.rank))
        operation = Posted(rank.rank, peer, payload, plain(where))
        operation.handle, operation.verb, operation.apart = handle, verb, apart
        operation.ready_s, operation.tainted = rank.clock_s, rank.tainted
        rank.operations[handle] = operation
        rank.posts.append(operation)

    # The virtual clock

    def _next_event(self) -> bool:
        """Act on the earliest event; False if there is none. At one time, ranks go in the order in which they woke."""
        posts = [(rank.posts[0].ready_s, rank.turn, rank.rank) for rank in self.ranks if rank.posts]
        end_s = self.wire.next_end_s
        if posts and (end_s is None or min(posts)[0] <= end_s):
            at_s, _, number = min(posts)
            operation = self.ranks[number].posts.popleft()
            self.now_s = max(self.now_s, at_s)
            wire = self.wire.channel("barrier") if operation.apart else self.wire
            (wire.send if operation.verb == "send" else wire.recv)(operation, self.now_s)
        elif end_s is not None:
            self.now_s = end_s
            for send, recv in self.wire.advance():
                assert isinstance(send, Posted)
                assert isinstance(recv, Posted)
                self._deliver(send, recv)
        else:
            return False
        return True

    def _deliver(self, send: Posted, recv: Posted) -> None:
        data = send.payload.data
        if self.perturbation is not None:
            data = self.perturbation.passing(self.delivered, send, recv, self.ranks)
        self.delivered += 1
        recv.payload.data, send.payload.data = data, None
        recv.tainted = recv.tainted or send.tainted
        self.ranks[send.rank].waiting_bytes -= send.payload.nbytes
        for side in (send, recv):
            rank = self.ranks[side.rank]
            if rank.waits_on is side:
                self.turns += 1
                rank.turn = self.turns
                self._wake(rank)

    def _wake(self, rank: Peer) -> None:
        operation = rank.waits_on
        assert operation is not None
        assert operation.message is not None
        rank.waits_on = None
        rank.clock_s = max(rank.clock_s, operation.message.end_s)
        self.wire.steps_seen[rank.rank] = max(self.wire.steps_seen[rank.rank], operation.message.step)
        payload = operation.payload if operation.verb == "recv" else None
        rank.tainted = rank.tainted or (operation.verb == "recv" and operation.tainted)
        rank.outbox += pack(Frame.DONE, [operation.handle, operation.message.src, payload, rank.clock_s])
        operation.payload.data = None
        rank.write()

    def _refuse_leftovers(self) -> None:
        left = [f"rank {op.rank}: i{verb} {op.peer}, {op.where}" for verb, op in self.wire.unmatched()[:4]]
        if left:
            text = "the program ended while messages waited for their other side: " + "; ".join(left)
            raise StopTrial(Failure("unmatched", text, self.wire.unmatched()[0][1].rank))
