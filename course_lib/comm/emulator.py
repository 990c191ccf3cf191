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
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

import torch
import torch.distributed as dist

from course_lib.comm.communicator import Place, Work, describe_line, place_of
from course_lib.comm.errors import Pending, deadlock_error
from course_lib.comm.network import Network
from course_lib.comm.processes import ProcessCommunicator
from course_lib.comm.wire import Operation, Wire

__all__ = ["Blocked", "EmulatedCommunicator", "EmulatedNetwork", "Envelope", "Post"]


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


class Blocked(NamedTuple):
    """A rank tells the parent that it cannot go on before the message of its operation `number` starts."""

    number: int
    verb: str
    place: tuple[str, int]


class Start(NamedTuple):
    """The parent tells a rank when the message of its operation `number` ends."""

    number: int
    src: int
    tag: int
    step: int
    end_s: float


class EmulatedCommunicator(ProcessCommunicator):
    """A rank on slowed links. Communication goes through torch.distributed, its timing through the parent."""

    __slots__ = ("_clock_s", "_cpu_s", "_link", "_posts", "_sent", "_starts", "_tags", "step_seen")

    def __init__(self, rank: int, world_size: int, start_s: float, network: Network, link: Connection) -> None:
        super().__init__(rank, world_size, None, start_s, torch.device("cpu"))
        self.network: Network = network
        self._link, self.step_seen = link, 0
        self._starts: dict[int, Start] = {}
        self._posts = 0
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
        number = self._posts
        self._posts += 1
        envelope = Envelope(str(tensor.dtype), tuple(tensor.shape), tensor.nbytes)
        self._link.send(Post(number, kind, peer, envelope, at_s, self.step_seen, place.file_and_line, self._is_apart))
        if kind == "send":  # the copy may leave before or after its emulated time: the receiver sleeps
            tag = self._tags[peer] = self._tags.get(peer, -1) + 1
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
        if number not in self._starts:
            while self._link.poll():
                self._keep(self._link.recv())
        if number not in self._starts:
            self._link.send(Blocked(number, verb, place))
        while number not in self._starts:
            self._keep(self._link.recv())
        return self._starts.pop(number)

    def _keep(self, start: Start) -> None:
        self._starts[start.number] = start


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
        start = comm.await_start(self._number, verb, place_of().file_and_line)
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

    __slots__ = ("number", "started", "tag", "verb")

    def __init__(self, rank: int, post: Post, tag: int) -> None:
        super().__init__(rank, post.peer, post.envelope, describe_line(*post.place))
        self.number, self.tag, self.verb, self.started = post.number, tag, post.kind, False


class EmulatedNetwork:
    """The parent's side: the wire, on the real clock.

    Args:
        tell: called with (rank, Start) when a rank can know the end of one of its messages.
    """

    def __init__(self, world_size: int, network: Network, tell: Callable[[int, Start], None]) -> None:
        self.wire = Wire(world_size, network, on_start=self._announce)
        self._tell = tell
        self._operations: dict[tuple[int, int], _Posted] = {}
        self._tags: Counter[tuple[int, int]] = Counter()
        self._blocked: dict[int, tuple[_Posted, Pending]] = {}

    def handle(self, rank: int, said: Post | Blocked) -> None:
        """Take in what a rank says."""
        if isinstance(said, Post):
            self._post(rank, said)
        elif not (operation := self._operations[rank, said.number]).started:
            verb = f"wait for i{operation.verb}" if said.verb == "wait" else said.verb
            self._blocked[rank] = operation, Pending(verb, operation.peer, describe_line(*said.place))

    def advance_to(self, clock_s: float) -> None:
        """End the messages whose time has come, and start those that waited for their ports."""
        while self.wire.next_end_s is not None and self.wire.next_end_s <= clock_s:
            self.wire.advance()

    def refuse_deadlock(self, finished: list[int]) -> None:
        """Raise DeadlockError if every rank that has not finished is blocked and nothing is on the wire."""
        everyone = len(self._blocked) + len(finished) == self.wire.world_size
        if self._blocked and everyone and self.wire.next_end_s is None:
            raise deadlock_error({rank: pending for rank, (_, pending) in self._blocked.items()}, finished)

    def pending(self, rank: int) -> Pending | None:
        """What a rank is blocked in."""
        return self._blocked[rank][1] if rank in self._blocked else None

    def _post(self, rank: int, post: Post) -> None:
        self.advance_to(post.at_s)
        self.wire.steps_seen[rank] = post.step_seen
        tag = 0
        if post.kind == "send":
            tag = self._tags[rank, post.peer]
            self._tags[rank, post.peer] += 1
        operation = self._operations[rank, post.number] = _Posted(rank, post, tag)
        with self.wire.apart() if post.apart else contextlib.nullcontext():
            (self.wire.send if post.kind == "send" else self.wire.recv)(operation, post.at_s)

    def _announce(self, send: _Posted, recv: _Posted) -> None:
        message = send.message
        for side in (send, recv):
            side.started = True
            self._blocked.pop(side.rank, None) if self._waits_on(side) else None
            self._tell(side.rank, Start(side.number, send.rank, send.tag, message.step, message.end_s))

    def _waits_on(self, operation: _Posted) -> bool:
        return operation.rank in self._blocked and self._blocked[operation.rank][0] is operation
