"""Two ways to give a simulated rank a stack of its own: greenlets (fast) and threads that pass a baton (any torch).

A function that a rank starts beside its program gets a stack too, with a number after those of the ranks.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable
from types import FrameType

import greenlet
import torch

from course_lib.comm.errors import FOREIGN

__all__ = ["GreenletRanks", "RankStopped", "ThreadRanks"]

_grad_enabled, _graph_task = torch.is_grad_enabled, torch._C._current_graph_task_id

_PATIENCE_S = 5.0  # how long a rank on a thread may take to unwind


class RankStopped(BaseException):
    """Unwinds a rank whose simulation is over. Not an Exception, so that a program's own handlers let it pass."""


def _nobody() -> int | None:
    """Stands in for the choice once the simulation is over: who communicates while unwinding is stopped again."""
    raise RankStopped


class GreenletRanks:
    """Ranks as greenlets of one thread: a switch costs 0.2 microseconds. Torch's thread-local state is shared.

    Args:
        body: runs one rank to its end; called with the rank.
        choose: the rank whose turn it is, or None if no rank can go on.
    """

    word = "greenlets"

    def __init__(self, world_size: int, body: Callable[[int], None], choose: Callable[[], int | None]) -> None:
        self._hub = greenlet.getcurrent()
        self._ranks = [greenlet.greenlet(body, self._hub) for _ in range(world_size)]
        self._body, self._choose, self._stopping = body, choose, False
        self._to_begin: int | None = None
        self._has_more = False  # more stacks than ranks

    def add(self) -> int:
        """One more stack; returns its number."""
        self._ranks.append(greenlet.greenlet(self._body, self._hub))
        self._has_more = True
        return len(self._ranks) - 1

    def run(self) -> None:
        """Let ranks run until none can."""
        while not self._stopping and (rank := self._choose() if self._to_begin is None else self._to_begin) is not None:
            self._to_begin = None
            self._ranks[rank].switch(rank) if not self._ranks[rank] else self._ranks[rank].switch()

    def switch_from(self, me: int) -> None:
        """Let others run; returns when it is rank `me`'s turn again.

        Raises:
            RuntimeError: inside a backward pass or under no_grad: that state of torch belongs to the one thread.
                Also if it is another stack that asks.
        """
        if self._has_more and greenlet.getcurrent() is not self._ranks[me]:
            raise RuntimeError(FOREIGN)
        if not _grad_enabled() or _graph_task() != -1:
            raise RuntimeError(
                "this program communicates inside a backward pass or under no_grad, which greenlets would mix up "
                'between ranks: pass ranks="threads" to simulate()'
            )
        chosen = self._choose()
        if chosen == me:
            return
        if chosen is None:
            self._hub.switch()
        elif self._ranks[chosen]:  # it has begun
            self._ranks[chosen].switch()
        else:  # ranks begin at the hub, for a new stack counts its depth from the one that begins it
            self._to_begin = chosen
            self._hub.switch()
        if self._stopping:
            raise RankStopped

    def stop(self) -> None:
        """Unwind every rank that has not finished."""
        self._stopping, self._choose = True, _nobody
        me = greenlet.getcurrent()
        for rank in self._ranks:
            if rank and rank is not me:
                rank.parent = me
                rank.throw(RankStopped)

    def frame_of(self, rank: int) -> FrameType | None:
        """Where a blocked rank stands."""
        return self._ranks[rank].gr_frame


class ThreadRanks:
    """Ranks as threads of which one at a time holds the baton: a message costs tens of microseconds more."""

    word = "threads"

    def __init__(self, world_size: int, body: Callable[[int], None], choose: Callable[[], int | None]) -> None:
        self._batons = [_taken_lock() for _ in range(world_size)]
        self._hub = _taken_lock()
        self._body, self._choose, self._stopping = body, choose, False
        self._threads: list[threading.Thread | None] = [None] * world_size
        self._running: threading.Thread | None = None

    def add(self) -> int:
        """One more stack; returns its number."""
        self._batons.append(_taken_lock())
        self._threads.append(None)
        return len(self._threads) - 1

    def run(self) -> None:
        """Let ranks run until none can. An interrupt of the caller ends the rank that runs."""
        try:
            while not self._stopping and (rank := self._choose()) is not None:
                self._resume(rank)
                self._hub.acquire()
        except BaseException:
            self._stop_running()
            self.stop()
            raise

    def switch_from(self, me: int) -> None:
        """Let others run; returns when it is rank `me`'s turn again.

        Raises:
            RuntimeError: if it is another stack that asks.
        """
        thread = threading.current_thread()
        if thread is not self._threads[me] and thread in self._threads:
            raise RuntimeError(FOREIGN)
        chosen = self._choose()
        if chosen == me:
            return
        if chosen is None:
            _hand_over(self._hub)
        else:
            self._resume(chosen)
        self._batons[me].acquire()
        if self._stopping:
            raise RankStopped

    def _resume(self, rank: int) -> None:
        if self._threads[rank] is None:
            thread = threading.Thread(target=self._live, args=(rank,), name=f"rank {rank}", daemon=True)
            self._threads[rank] = self._running = thread
            thread.start()
        else:
            self._running = self._threads[rank]
            _hand_over(self._batons[rank])

    def _live(self, rank: int) -> None:
        self._body(rank)
        if not self._stopping:
            _hand_over(self._hub)

    def stop(self) -> None:
        """Unwind every rank that has not finished, one after the other."""
        self._stopping, self._choose = True, _nobody
        me = threading.current_thread()
        for rank, thread in enumerate(self._threads):
            if thread is not None and thread is not me and thread.is_alive():
                _hand_over(self._batons[rank])
                thread.join(_PATIENCE_S)
        if me in self._threads:
            _hand_over(self._hub)

    def _stop_running(self) -> None:
        """Raise RankStopped in the rank that runs, at its next line of Python: it may be in an endless loop."""
        thread = self._running
        if thread is not None and thread.is_alive():
            stopped = ctypes.py_object(RankStopped)
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident or 0), stopped)

    def frame_of(self, rank: int) -> FrameType | None:
        """Where a blocked rank stands."""
        thread = self._threads[rank]
        frame = sys._current_frames().get(thread.ident or 0) if thread else None
        while frame is not None and frame.f_code.co_filename == threading.__file__:
            frame = frame.f_back
        return frame


def _taken_lock() -> threading.Lock:
    """A baton that nobody has: to acquire it is to wait for it."""
    lock = threading.Lock()
    lock.acquire()
    return lock


def _hand_over(baton: threading.Lock) -> None:
    if baton.locked():
        baton.release()
