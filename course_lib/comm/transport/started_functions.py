"""The thread that runs a rank's started functions (`comm.start`) on real processes."""

from __future__ import annotations

import itertools
import queue
import threading
from typing import TYPE_CHECKING

import torch

from course_lib.comm.communicator import Started
from course_lib.comm.devices import use
from course_lib.comm.errors import FOREIGN
from course_lib.comm.source_location import locate

if TYPE_CHECKING:
    from course_lib.comm.transport.communicator import ProcessCommunicator


class StartedThread:
    """Runs the started functions of one rank, one after the other, in a thread of their own.

    Args:
        comm: the rank as its program sees it.
        twin: the same rank as its started functions see it.
    """

    def __init__(self, comm: ProcessCommunicator, twin: ProcessCommunicator) -> None:
        self._comm, self._twin = comm, twin
        self._numbers = itertools.count()
        self._todo: queue.SimpleQueue[Started] = queue.SimpleQueue()
        self._counting = threading.Lock()
        self._begun = self._ended = 0
        self._thread = threading.Thread(target=self._live, name="started functions", daemon=True)
        self._thread.start()

    def add(self, work: Started) -> None:
        """Run this one after those before it."""
        work.number = next(self._numbers)
        self._comm.log.mark(True, f"start {work.number}")
        self._count(begun=1)
        self._todo.put(work)

    def join(self, work: Started) -> None:
        """Block the program until this one has ended."""
        if not work.ended.is_set():
            self.refuse_this_thread()
        comm, start_s = self._comm, self._comm.now()
        if not work.ended.is_set():
            comm.block_join(work, comm.started_at or locate())
            work.ended.wait()
            comm.go_on()
        comm.resume_after(work, start_s)
        comm.log.mark(False, f"end {work.number}")
        if (end_s := comm.now()) > start_s:
            comm.log.waits.append((comm.rank, "wait", start_s, end_s))

    def refuse_this_thread(self) -> None:
        """Raise RuntimeError if a started function does what only its program may."""
        if threading.current_thread() is self._thread:
            raise RuntimeError(FOREIGN)

    def _live(self) -> None:
        use(self._twin.device)
        while True:
            work = self._todo.get()
            self._run(work)
            self._count(ended=1)
            work.ended.set()

    def _run(self, work: Started) -> None:
        twin = self._twin
        twin.begin_started(work)
        twin.log.mark(False, f"start {work.number}")
        with torch.no_grad():
            work.run(twin)
        twin.log.mark(True, f"end {work.number}")
        twin.end_started(work)
        if work.error is not None:
            self._comm.on_error(work.error)

    def _count(self, begun: int = 0, ended: int = 0) -> None:
        with self._counting:
            self._begun += begun
            self._ended += ended
            self._comm.tell_under_way(self._begun, self._ended)
