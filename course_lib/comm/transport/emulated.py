"""Emulated links: real processes whose messages take as long as on a `Network`.

The parent is the network: ranks tell it what they post and when on their own clocks, the same `Wire` that the simulator
uses matches messages and decides when each starts and ends, and a rank sleeps until then. The payload itself crosses
torch.distributed meanwhile.

A rank's clock is paced: the end of the message it last waited for, plus its own processor time since. What a
communication call costs really enters no stamp; it must fit inside the emulated delay.
"""

from __future__ import annotations

import heapq
import math
import time
from collections import Counter, deque
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
import torch.distributed as dist

from course_lib.comm.collective import Label
from course_lib.comm.communicator import Started, Work
from course_lib.comm.errors import JOIN, DeadlockError, Pending, deadlock_error
from course_lib.comm.network import Network
from course_lib.comm.processes.pipes import SharedPipe
from course_lib.comm.source_location import SourceLocation, describe_line, locate
from course_lib.comm.transport.board import Board
from course_lib.comm.transport.communicator import ProcessCommunicator, as_stored
from course_lib.comm.transport.log import Log
from course_lib.comm.wire import Wire, WireOperation

# --- The parent's side: what it and ranks tell each other, and the network itself on the real clock.


_TOGETHER = 0.1  # of the latency: posts that lie no further apart count as one moment


class Post(WireOperation):
    """A send or receive that a rank tells the parent of, which puts it on the wire: its payload is only described.

    Args:
        number: what the parent's answer is to have.
        at_s: when it was posted, on the rank's own clock.
        where: file and line of the student's.
        channel: the names inside which it was posted; it meets only what others post there.
        started: whether a started function posts it, which meets only those of other started functions.
    """

    __slots__ = ("at_s", "channel", "dtype", "kind", "nbytes", "number", "shape", "started", "tag", "under_way")

    def __init__(
        self,
        rank: int,
        peer: int | None,
        payload: tuple[str, tuple[int, ...], int],
        where: tuple[str, int],
        collective: Label | None,
        kind: str,
        number: int,
        at_s: float,
        step_seen: int,
        channel: tuple[Any, ...],
        started: bool,
    ) -> None:
        super().__init__(rank, peer, self, where, collective)
        self.dtype, self.shape, self.nbytes = payload
        self.kind, self.number = kind, number
        self.at_s, self.step_seen = at_s, step_seen
        self.channel, self.started = channel, started
        self.tag = 0  # what tells messages of its link apart, given by the parent
        self.under_way = False  # whether its message has started, for the parent

    def __reduce__(self) -> tuple[Any, ...]:
        payload = self.dtype, self.shape, self.nbytes
        about = self.kind, self.number, self.at_s, self.step_seen, self.channel, self.started
        return Post, (self.rank, self.peer, payload, self.where, self.collective, *about)

    def location(self) -> str:
        return describe_line(*self.where)


class Blocked(NamedTuple):
    """A rank tells the parent that it cannot go on before the message of its operation `number` starts.

    With the verb `JOIN`, that its program cannot go on before its started function `number` ends.
    """

    number: int
    verb: str
    location: tuple[str, int]
    sure: bool = True  # False while threads of the program's own run: one of them may send what it waits for


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


class EmulatedNetwork:
    """The parent's side: the wire, on the real clock.

    Between posts that belong to one moment a program's own instructions take some microseconds. So what is posted
    within a tenth of the latency is one moment: the wire then settles ties as it does in the simulator.

    Args:
        tell: called with (rank, Start) when a rank can know the end of one of its messages.
    """

    def __init__(self, world_size: int, network: Network, tell: Callable[[int, Start], None]) -> None:
        self.wire = Wire(world_size, network, on_start=self._announce)
        self._wire_of_started = self.wire.sibling()
        self._tell, self._together_s = tell, _TOGETHER * network.latency_s
        self._ended_s = 0.0  # when the last message ended
        self._posts: list[tuple[float, int, int, Post]] = []  # not on the wire yet, the earliest on top
        self._operations: dict[tuple[int, int], Post] = {}
        self._tags: Counter[tuple[int, int, bool]] = Counter()
        self._blocked: dict[tuple[int, bool], tuple[int, Pending]] = {}  # by rank, and whether a started function is
        self._unsure: set[tuple[int, bool]] = set()
        self._under_way: dict[int, UnderWay] = {}

    def handle(self, rank: int, said: Post | Blocked | UnderWay) -> None:
        """Take in what a rank says."""
        if isinstance(said, Post):
            said.tag = self._tag(said)
            self._operations[rank, said.number] = said
            heapq.heappush(self._posts, (said.at_s, rank, said.number, said))
        elif isinstance(said, UnderWay):
            self._under_way[rank] = said
            number, pending = self._blocked.get((rank, False), (0, None))
            if pending and pending.verb == JOIN and number < said.ended:
                del self._blocked[rank, False]
        elif said.verb == JOIN:
            self._note_sure(rank, False, said.sure)
            if said.number >= self._under_way[rank].ended:
                self._blocked[rank, False] = said.number, Pending(JOIN, None, describe_line(*said.location))
        elif not (operation := self._operations[rank, said.number]).under_way:
            verb = f"wait for i{operation.kind}" if said.verb == "wait" else said.verb
            pending = Pending(verb, operation.peer, describe_line(*said.location))
            self._blocked[rank, operation.started] = said.number, pending
            self._note_sure(rank, operation.started, said.sure)

    def _note_sure(self, rank: int, started: bool, sure: bool) -> None:
        """Keep whether a blocked program, or started function, is surely blocked."""
        (self._unsure.discard if sure else self._unsure.add)((rank, started))

    @property
    def next_s(self) -> float:
        """When there is something to do on the ranks' clock, if nobody posts before; infinite if there is nothing."""
        end_s = self.wire.next_end_s
        return min(math.inf if end_s is None else end_s, self._moment()[1])

    def _moment(self) -> tuple[float, float]:
        """When the first post not on the wire was made, or a message ended about then; and when that moment is over.

        Infinite if there is no such post.
        """
        begun_s = self._posts[0][0] if self._posts else math.inf
        if begun_s <= self._ended_s <= begun_s + self._together_s:
            begun_s = self._ended_s
        return begun_s, begun_s + self._together_s

    def advance_to(self, clock_s: float) -> None:
        """Take in what was posted, end the messages whose time has come, and start those that can start."""
        while (next_s := self.next_s) <= clock_s and next_s < math.inf:
            begun_s, over_s = self._moment()
            if self.wire.next_end_s == next_s:
                self.wire.advance()
                self._ended_s = next_s
            else:
                self._take(begun_s, over_s)

    def _take(self, begun_s: float, over_s: float) -> None:
        """Hand in all that was posted up to the end of a moment, as if at one time."""
        moment = []
        while self._posts and self._posts[0][0] <= over_s:
            moment.append(heapq.heappop(self._posts))
        at_s = max(begun_s, moment[-1][0])
        for _, rank, _, post in moment:
            wire = self._wire_of_started if post.started else self.wire
            wire.steps_seen[rank] = post.step_seen
            channel = wire.channel(post.channel) if post.channel else wire
            (channel.send if post.kind == "send" else channel.recv)(post, at_s)

    def deadlock(self, finished: list[int]) -> DeadlockError | None:
        """The error if no program and no started function can go on and nothing is on the wire."""
        unfinished = [rank for rank in range(self.wire.world_size) if rank not in finished]
        if not unfinished or self.next_s < math.inf or not all(map(self._is_stuck, unfinished)):
            return None
        programs, functions = (
            {rank: what for (rank, started), (_, what) in self._blocked.items() if started is which}
            for which in (False, True)
        )
        return deadlock_error(programs, finished, functions)

    def _is_stuck(self, rank: int) -> bool:
        begun, ended = self._under_way.get(rank, (0, 0))
        surely = self._blocked.keys() - self._unsure
        return (rank, False) in surely and (begun == ended or (rank, True) in surely)

    def pending(self, rank: int, started: bool) -> Pending | None:
        """What a rank's program, or the function it started, is blocked in."""
        return self._blocked.get((rank, started), (0, None))[1]

    def unmatched(self) -> list[tuple[str, WireOperation]]:
        """Operations whose other side never came, as ("send" or "recv", operation)."""
        return self.wire.unmatched() + self._wire_of_started.unmatched()

    def _tag(self, post: Post) -> int:
        """What tells the messages of one link apart on their way through torch.distributed."""
        if post.kind != "send":
            return 0
        link = post.rank, post.peer, post.started
        self._tags[link] += 1
        return 2 * (self._tags[link] - 1) + post.started

    def _announce(self, send: Post, recv: Post) -> None:
        for side in (send, recv):
            side.under_way = True
            number, pending = self._blocked.get((side.rank, side.started), (-1, None))
            if number == side.number and pending and pending.verb != JOIN:
                del self._blocked[side.rank, side.started]
            self._tell(side.rank, Start(side.number, send.rank, send.tag, send.step, send.end_s))


# --- The rank's side: a communicator whose messages take as long as the parent says.


class EmulatedCommunicator(ProcessCommunicator):
    """A rank on slowed links. Communication goes through torch.distributed, its timing through the parent."""

    __slots__ = ("_clock_s", "_cpu_s", "_pipe", "_sent", "_tags", "step_seen")

    def __init__(
        self, rank: int, world_size: int, board: Board, start_s: float, network: Network, pipe: SharedPipe
    ) -> None:
        super().__init__(rank, world_size, board, start_s, torch.device("cpu"))
        self.network: Network = network
        self._pipe, self.step_seen = pipe, 0
        self._sent: deque[tuple[dist.Work, torch.Tensor]] = deque()  # copies under way
        self._tags: dict[int, int] = {}
        self._clock_s, self._cpu_s = 0.0, time.thread_time()

    def begin(self) -> None:
        self.sleep_until(0.0)

    def now(self) -> float:
        return self._clock_s + time.thread_time() - self._cpu_s

    def compute(self, seconds: float, label: str = "compute") -> None:
        self._check_seconds(seconds)
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

    def _post(self, kind: str, tensor: torch.Tensor, peer: Any, location: SourceLocation) -> Any:
        at_s = self.now()
        peer = self._check(tensor, peer, "dst" if kind == "send" else "src")
        if self._worker is not None:
            self._worker.refuse_this_thread()
        number, started = next(self._pipe.numbers), self._started
        payload = str(tensor.dtype), tuple(tensor.shape), tensor.nbytes
        about = kind, number, at_s, self.step_seen, self._channel, started
        self._pipe.send(Post(self.rank, peer, payload, location.file_and_line, self.within, *about))
        if kind == "send":  # the copy may leave before or after its emulated time: the receiver sleeps
            tag = self._tags[peer] = self._tags.get(peer, int(started) - 2) + 2
            copy = as_stored(tensor, kind).detach().clone()
            while self._sent and self._sent[0][0].is_completed():
                self._sent.popleft()
            self._sent.append((dist.isend(copy, peer, tag=tag), copy))
        work = _EmulatedWork(self, kind, tensor, number)
        self._set_clock(at_s)
        return work

    def begin_collective(self, label: Label, is_ours: bool) -> None:
        at_s = self.now()
        super().begin_collective(label, is_ours)
        self._set_clock(at_s)

    def end_collective(self) -> None:
        at_s = self.now()
        super().end_collective()
        self._set_clock(at_s)

    def _set_clock(self, clock_s: float) -> None:
        self._clock_s, self._cpu_s = clock_s, time.thread_time()

    def await_start(self, number: int, verb: str, location: tuple[str, int]) -> Start:
        """Wait until the parent says when the message of operation `number` ends."""
        start = self._pipe.answer(number)
        if start is None:
            self._pipe.send(Blocked(number, verb, location, not self._has_other_threads()))
            start = self._pipe.wait_for(number)
        return start

    def _make_twin(self) -> ProcessCommunicator:
        assert self._board is not None
        board = self._board.started_board()
        twin = EmulatedCommunicator(self.rank, self.world_size, board, self._start_s, self.network, self._pipe)
        twin.log, twin._started = Log("started"), True
        self.log.started = twin.log
        return twin

    def _run_started(self, work: Started) -> None:
        work.start_s, work.step = self.now(), self.step_seen
        super()._run_started(work)
        self._set_clock(work.start_s)

    def begin_started(self, work: Started) -> None:
        super().begin_started(work)
        self.sleep_until(max(self._clock_s, work.start_s))
        self.step_seen = max(self.step_seen, work.step)

    def end_started(self, work: Started) -> None:
        work.end_s, work.step = self.now(), self.step_seen
        self._set_clock(work.end_s)

    def block_join(self, work: Started, location: SourceLocation) -> None:
        self._pipe.send(Blocked(work.number, JOIN, location.file_and_line, not self._has_other_threads()))

    def tell_under_way(self, begun: int, ended: int) -> None:
        self._pipe.send(UnderWay(begun, ended))

    def resume_after(self, work: Started, began_s: float) -> None:
        self.sleep_until(max(began_s, work.end_s))
        self.step_seen = max(self.step_seen, work.step)


class _EmulatedWork(Work):
    __slots__ = ("_comm", "_kind", "_number", "_start", "_tensor")

    def __init__(self, comm: EmulatedCommunicator, kind: str, tensor: torch.Tensor, number: int) -> None:
        self._comm = comm
        self._kind = kind
        self._tensor = tensor
        self._number = number
        self._start: Start | None = None

    def wait(self) -> bool:
        self.finish("wait")
        return True

    def finish(self, verb: str) -> None:
        """Wait for the message, take its payload, and sleep until its emulated end; once."""
        if self._start is not None:
            return
        comm, began_s = self._comm, self._comm.now()
        start = comm.await_start(self._number, verb, locate(None, comm.started_at).file_and_line)
        if self._kind == "recv":
            carried = as_stored(self._tensor, self._kind).detach()
            dist.recv(carried, start.src, tag=start.tag)
            if carried.data_ptr() != self._tensor.data_ptr():
                self._tensor.detach().copy_(carried)
        comm.sleep_until(max(began_s, start.end_s))
        comm.step_seen = max(comm.step_seen, start.step)
        if start.end_s > began_s:
            comm.log.waits.append((comm.rank, verb, began_s, start.end_s))
        self._start = start

    def source_rank(self) -> int:
        if self._start is None:
            raise RuntimeError("source_rank() is known after wait()")
        return self._start.src
