"""Real processes on links slowed to a `Network`: the ranks' side and the parent's side.

The parent is the network: ranks tell it what they post and when on their own clocks, the same `Wire` that the
simulator uses matches messages and decides when each starts and ends, and a rank sleeps until then. The payload itself
crosses torch.distributed meanwhile.

A rank's clock is paced: the end of the message it last waited for, plus its own processor time since. What a
communication call costs really enters no stamp; it must fit inside the emulated delay.
"""

from __future__ import annotations

import contextlib
import time
from collections import Counter, deque
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
import torch.distributed as dist

from course_lib.comm.communicator import Place, Started, Work, describe_line, place_of
from course_lib.comm.errors import JOIN, DeadlockError, Pending, deadlock_error
from course_lib.comm.line import Line
from course_lib.comm.network import Network
from course_lib.comm.processes import ProcessCommunicator
from course_lib.comm.wire import Operation, Wire

__all__ = ["Blocked", "EmulatedCommunicator", "EmulatedNetwork", "Envelope", "Post", "UnderWay"]


class Envelope(NamedTuple):
    """What the parent needs to know of a tensor."""

    dtype: str
    shape: tuple[int, ...]
    nbytes: int


class Post(NamedTuple):
    """A rank tells the parent that it posts a send or a receive."""

    number: int
    kind: str
    peer: Any  # a rank, or None in a receive from anyone
    envelope: Envelope
    at_s: float
    step_seen: int
    place: tuple[str, int]
    apart: bool  # a barrier's, which meets only those of other barriers
    started: bool  # of a started function, which meets only those of other started functions


class Blocked(NamedTuple):
    """A rank tells the parent that it cannot go on before the message of its operation `number` starts.

    With the verb `JOIN`, that its program cannot go on before its started function `number` ends.
    """

    number: int
    verb: str
    place: tuple[str, int]


class UnderWay(NamedTuple):
    """A rank tells the parent how many functions it has started, and how many of them have ended."""

    begun: int
    ended: int


class Start(NamedTuple):
    """The parent tells a rank when the message of its operation `number` ends."""

    number: int
    src: int
    tag: int
    step: int
    end_s: float


class EmulatedCommunicator(ProcessCommunicator):
    """A rank on slowed links. Communication goes through torch.distributed, its timing through the parent."""

    __slots__ = ("_clock_s", "_cpu_s", "_line", "_sent", "_tags", "step_seen")

    def __init__(self, rank: int, world_size: int, start_s: float, network: Network, line: Line) -> None:
        super().__init__(rank, world_size, None, start_s, torch.device("cpu"))
        self.network: Network = network
        self._line, self.step_seen = line, 0
        self._sent: deque[tuple[dist.Work, torch.Tensor]] = deque()  # copies under way
        self._tags: dict[int, int] = {}
        self._clock_s, self._cpu_s = 0.0, time.thread_time()

    def begin(self) -> None:
        self.sleep_until(0.0)

    def now(self) -> float:
        return self._clock_s + time.thread_time() - self._cpu_s

    def compute(self, seconds: float, label: str = "compute") -> None:
        if not seconds >= 0:
            raise ValueError(f"seconds must be 0 or more, rank {self.rank} got {seconds}")
        start_s = self.now()
        self.sleep_until(start_s + self.network.compute_seconds(self.rank, seconds))
        self._record_span(label, start_s, self._clock_s)

    def sleep_until(self, clock_s: float) -> None:
        """Set the clock to `clock_s` and sleep until the real one is there."""
        self._clock_s = clock_s
        late_s = self._start_s + clock_s - time.perf_counter()
        if late_s > 0:
            time.sleep(late_s)
        self._cpu_s = time.thread_time()

    def _post(self, kind: str, tensor: torch.Tensor, peer: Any, place: Place) -> Any:
        at_s = self.now()
        self._check(tensor, peer, "dst" if kind == "send" else "src")
        if self._worker is not None:
            self._worker.refuse_this_thread()
        number, started = next(self._line.numbers), self._tag > 0
        envelope = Envelope(str(tensor.dtype), tuple(tensor.shape), tensor.nbytes)
        about = place.file_and_line, self._is_apart, started
        self._line.send(Post(number, kind, peer, envelope, at_s, self.step_seen, *about))
        if kind == "send":  # the copy may leave before or after its emulated time: the receiver sleeps
            tag = self._tags[peer] = self._tags.get(peer, started - 2) + 2
            copy = tensor.detach().clone()
            while self._sent and self._sent[0][0].is_completed():
                self._sent.popleft()
            self._sent.append((dist.isend(copy, peer, tag=tag), copy))
        work = _EmulatedWork(self, kind, tensor, number)
        self._set_clock(at_s)
        return work

    def _set_clock(self, clock_s: float) -> None:
        self._clock_s, self._cpu_s = clock_s, time.thread_time()

    def await_start(self, number: int, verb: str, place: tuple[str, int]) -> Start:
        """Wait until the parent says when the message of operation `number` ends."""
        start = self._line.answer(number)
        if start is None:
            self._line.send(Blocked(number, verb, place))
            start = self._line.wait_for(number)
        return start

    def _make_twin(self) -> ProcessCommunicator:
        twin = EmulatedCommunicator(self.rank, self.world_size, self._start_s, self.network, self._line)
        twin._tag, self.log.started = 1, twin.log
        return twin

    def _run_beside(self, work: Started) -> None:
        work.start_s, work.step = self.now(), self.step_seen
        super()._run_beside(work)
        self._set_clock(work.start_s)

    def begin_started(self, work: Started) -> None:
        super().begin_started(work)
        self.sleep_until(max(self._clock_s, work.start_s))
        self.step_seen = max(self.step_seen, work.step)

    def end_started(self, work: Started) -> None:
        work.end_s, work.step = self.now(), self.step_seen
        self._set_clock(work.end_s)

    def block_join(self, work: Started, place: Place) -> None:
        self._line.send(Blocked(work.number, JOIN, place.file_and_line))

    def tell_under_way(self, begun: int, ended: int) -> None:
        self._line.send(UnderWay(begun, ended))

    def resume_after(self, work: Started, began_s: float) -> None:
        self.sleep_until(max(began_s, work.end_s))
        self.step_seen = max(self.step_seen, work.step)


class _EmulatedWork(Work):
    __slots__ = ("_comm", "_kind", "_number", "_start", "_tensor")

    def __init__(self, comm: EmulatedCommunicator, kind: str, tensor: torch.Tensor, number: int) -> None:
        self._comm, self._kind, self._tensor, self._number = comm, kind, tensor, number
        self._start: Start | None = None

    def wait(self) -> bool:
        self.finish("wait")
        return True

    def finish(self, verb: str) -> None:
        """Wait for the message, take its payload, and sleep until its emulated end; once."""
        if self._start is not None:
            return
        comm, began_s = self._comm, self._comm.now()
        start = comm.await_start(self._number, verb, place_of(None, comm.started_at).file_and_line)
        if self._kind == "recv":
            dist.recv(self._tensor.detach(), start.src, tag=start.tag)
        comm.sleep_until(max(began_s, start.end_s))
        comm.step_seen = max(comm.step_seen, start.step)
        if start.end_s > began_s:
            comm.log.waits.append((comm.rank, verb, began_s, start.end_s))
        self._start = start

    def source_rank(self) -> int:
        assert self._start is not None, "source_rank() is known after wait()"
        return self._start.src


class _Posted(Operation):
    """An operation of a rank in another process."""

    __slots__ = ("number", "started", "tag", "under_way", "verb")

    def __init__(self, rank: int, post: Post, tag: int) -> None:
        super().__init__(rank, post.peer, post.envelope, describe_line(*post.place))
        self.number, self.tag, self.verb, self.started = post.number, tag, post.kind, post.started
        self.under_way = False  # whether its message has started


class EmulatedNetwork:
    """The parent's side: the wire, on the real clock.

    Args:
        tell: called with (rank, Start) when a rank can know the end of one of its messages.
    """

    def __init__(self, world_size: int, network: Network, tell: Callable[[int, Start], None]) -> None:
        self.wire = Wire(world_size, network, on_start=self._announce)
        self._wire_of_started = self.wire.sibling()
        self._tell = tell
        self._operations: dict[tuple[int, int], _Posted] = {}
        self._tags: Counter[tuple[int, int, bool]] = Counter()
        self._blocked: dict[tuple[int, bool], tuple[int, Pending]] = {}  # by rank, and whether a started function is
        self._under_way: dict[int, UnderWay] = {}

    def handle(self, rank: int, said: Post | Blocked | UnderWay) -> None:
        """Take in what a rank says."""
        if isinstance(said, Post):
            self._post(rank, said)
        elif isinstance(said, UnderWay):
            self._under_way[rank] = said
            number, pending = self._blocked.get((rank, False), (0, None))
            if pending and pending.verb == JOIN and number < said.ended:
                del self._blocked[rank, False]
        elif said.verb == JOIN:
            if said.number >= self._under_way[rank].ended:
                self._blocked[rank, False] = said.number, Pending(JOIN, None, describe_line(*said.place))
        elif not (operation := self._operations[rank, said.number]).under_way:
            verb = f"wait for i{operation.verb}" if said.verb == "wait" else said.verb
            pending = Pending(verb, operation.peer, describe_line(*said.place))
            self._blocked[rank, operation.started] = said.number, pending

    def advance_to(self, clock_s: float) -> None:
        """End the messages whose time has come, and start those that waited for their ports."""
        while self.wire.next_end_s is not None and self.wire.next_end_s <= clock_s:
            self.wire.advance()

    def deadlock(self, finished: list[int]) -> DeadlockError | None:
        """The error if no program and no started function can go on and nothing is on the wire."""
        unfinished = [rank for rank in range(self.wire.world_size) if rank not in finished]
        if not unfinished or self.wire.next_end_s is not None or not all(map(self._is_stuck, unfinished)):
            return None
        programs, functions = (
            {rank: what for (rank, started), (_, what) in self._blocked.items() if started is which}
            for which in (False, True)
        )
        return deadlock_error(programs, finished, functions)

    def _is_stuck(self, rank: int) -> bool:
        begun, ended = self._under_way.get(rank, (0, 0))
        return (rank, False) in self._blocked and (begun == ended or (rank, True) in self._blocked)

    def pending(self, rank: int, started: bool) -> Pending | None:
        """What a rank's program, or the function it started, is blocked in."""
        return self._blocked.get((rank, started), (0, None))[1]

    def unmatched(self) -> list[tuple[str, Operation]]:
        """Operations whose other side never came, as ("send" or "recv", operation)."""
        return self.wire.unmatched() + self._wire_of_started.unmatched()

    def _post(self, rank: int, post: Post) -> None:
        self.advance_to(post.at_s)
        wire = self._wire_of_started if post.started else self.wire
        wire.steps_seen[rank] = post.step_seen
        tag = 0
        if post.kind == "send":
            link = rank, post.peer, post.started
            tag = 2 * self._tags[link] + post.started
            self._tags[link] += 1
        operation = self._operations[rank, post.number] = _Posted(rank, post, tag)
        with wire.apart() if post.apart else contextlib.nullcontext():
            (wire.send if post.kind == "send" else wire.recv)(operation, post.at_s)

    def _announce(self, send: _Posted, recv: _Posted) -> None:
        message = send.message
        for side in (send, recv):
            side.under_way = True
            number, pending = self._blocked.get((side.rank, side.started), (-1, None))
            if number == side.number and pending and pending.verb != JOIN:
                del self._blocked[side.rank, side.started]
            self._tell(side.rank, Start(side.number, send.rank, send.tag, message.step, message.end_s))
