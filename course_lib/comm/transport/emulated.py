"""Real processes on links slowed to a `Network`: the ranks' side.

The parent is the network: ranks tell it what they post and when on their own clocks, the same `Wire` that the
simulator uses matches messages and decides when each starts and ends, and a rank sleeps until then. The payload itself
crosses torch.distributed meanwhile.

A rank's clock is paced: the end of the message it last waited for, plus its own processor time since. What a
communication call costs really enters no stamp; it must fit inside the emulated delay.
"""

from __future__ import annotations

import time
from collections import deque
from typing import Any

import torch
import torch.distributed as dist

from course_lib.comm.collective import Label
from course_lib.comm.communicator import Started, Work
from course_lib.comm.errors import JOIN
from course_lib.comm.network import Network
from course_lib.comm.processes.pipes import SharedPipe
from course_lib.comm.source_location import SourceLocation, locate
from course_lib.comm.transport.board import Board
from course_lib.comm.transport.communicator import ProcessCommunicator
from course_lib.comm.transport.emulated_network import Blocked, Post, Start, UnderWay
from course_lib.comm.transport.log import Log
from course_lib.comm.transport.message import as_stored

__all__ = ["EmulatedCommunicator"]


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
        board = self._board.beside()
        twin = EmulatedCommunicator(self.rank, self.world_size, board, self._start_s, self.network, self._pipe)
        twin.log, twin._started = Log("started"), True
        self.log.started = twin.log
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
