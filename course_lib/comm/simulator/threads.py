"""Ranks as threads that pass a baton: slower, and free to do anything that torch can."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

import greenlet
import torch

from course_lib.comm.errors import FOREIGN
from course_lib.comm.simulator.greenlets import GreenletRanks
from course_lib.comm.simulator.insistent import raise_in, unraisable_unseen
from course_lib.comm.simulator.switching import RankStopped, Switching, nobody
from course_lib.comm.simulator.thread_state import FRESH, thread_state
from course_lib.comm.source_location import is_ours

__all__ = ["ThreadRanks", "simulated_rank"]

_PATIENCE_S = 5.0  # how long the ranks may take to unwind, and then each that was stopped once more
_LEAST_S = 0.1  # that each of them gets
_LOOK_S = 0.1  # how often the caller's thread can be interrupted by another one while it waits


class _RankThread(threading.Thread):
    """The thread of a simulated rank."""


def simulated_rank() -> bool:
    """True in the thread of a simulated rank."""
    return isinstance(threading.current_thread(), _RankThread)


class ThreadRanks(Switching):
    """Ranks as threads of which one at a time holds the baton: a message costs tens of microseconds more."""

    word = "threads"

    def __init__(self, world_size: int, body: Callable[[int], None], choose: Callable[[], int | None]) -> None:
        self._batons = [_taken_lock() for _ in range(world_size)]
        self._hub = _taken_lock()
        self._body = body
        self._choose = choose
        self._stopping = False
        self._threads: list[threading.Thread | None] = [None] * world_size
        self._running: threading.Thread | None = None
        self._ending: threading.Thread | None = None
        self._left: threading.Thread | None = None  # was interrupted, and did not end: it waits outside of Python
        self._greenlets: _HostedGreenlets | None = None

    def add(self) -> int:
        self._batons.append(_taken_lock())
        self._threads.append(None)
        return len(self._threads) - 1

    def run(self) -> None:
        """Let ranks run until none can. An interrupt of the caller ends the rank that runs."""
        try:
            while not self._stopping and (rank := self._choose()) is not None:
                self._resume(rank)
                while not self._hub.acquire(timeout=_LOOK_S):
                    pass
            if self._ending is not None:
                self._ending.join(_PATIENCE_S)
        except BaseException:
            if self._greenlets is not None:
                self._greenlets.close()
            self._stopping, self._choose = True, nobody
            if self._running is not None and not _ends(self._running):  # it may be in an endless loop
                self._left = self._running
            self.stop()
            raise

    def switch_from(self, me: int) -> None:
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

    def refuse_ended(self) -> None:
        pass  # what torch keeps for a thread ends with it

    def to_greenlets(self) -> GreenletRanks | None:
        """All ranks as greenlets of the first one's thread, in which this is called before any other has begun.

        Not while that rank has changed what torch keeps for its thread: then this returns None.
        """
        if thread_state() != FRESH or any(self._threads[1:]):
            return None
        self._greenlets = _HostedGreenlets(self, len(self._threads), self._body, self._choose)
        return self._greenlets

    def _resume(self, rank: int) -> None:
        if self._threads[rank] is None:
            thread = _RankThread(target=self._live, args=(rank,), name=f"rank {rank}", daemon=True)
            self._threads[rank] = self._running = thread
            thread.start()
        else:
            self._running = self._threads[rank]
            _hand_over(self._batons[rank])

    def _live(self, rank: int) -> None:
        """A thread's life. Its rank is a greenlet of it, to which others may come.

        Autograd runs the backward pass of an accelerator's tensors, and hooks in it, in one thread for all ranks, where
        a rank that waits in a hook would block the others. Here it is to use the rank's own.
        """
        torch.autograd.set_multithreading_enabled(False)
        try:
            greenlet.greenlet(self._body).switch(rank)
            if self._greenlets is not None:
                self._host(self._greenlets, self._batons[rank])
        except RankStopped as stopped:
            stopped.take_back()
        finally:
            if not self._stopping:
                self._end()

    def _end(self) -> None:
        """Hand over to the caller as this thread's last deed."""
        self._ending = threading.current_thread()
        _hand_over(self._hub)

    def _host(self, ranks: GreenletRanks, baton: threading.Lock) -> None:
        """Let the greenlets run until none can, and unwind those that stand still when the simulation says so."""
        try:
            ranks.run()
            if ranks.unfinished and not self._stopping:
                _hand_over(self._hub)
                baton.acquire()
        except RankStopped as stopped:
            stopped.take_back()
        finally:
            ranks.stop()

    def stop(self) -> None:
        """Unwind every rank that has not finished, one after the other; one that waits outside of Python is left."""
        self._stopping, self._choose = True, nobody
        me, until = threading.current_thread(), time.monotonic() + _PATIENCE_S
        for rank, thread in enumerate(self._threads):
            if thread is not None and thread not in (me, self._left) and thread.is_alive():
                _hand_over(self._batons[rank])
                thread.join(max(_LEAST_S, until - time.monotonic()))
                _ends(thread)
        if me in self._threads:
            self._end()

    def frame_of(self, rank: int) -> FrameType | None:
        thread = self._threads[rank]
        frame = sys._current_frames().get(thread.ident or 0) if thread else None
        while frame is not None and frame.f_code.co_filename == threading.__file__:
            frame = frame.f_back
        return frame


class _HostedGreenlets(GreenletRanks):
    """Greenlets in the thread of the first rank, which is one of them already; the thread's own one is the hub."""

    def __init__(self, host: ThreadRanks, *args: Any) -> None:
        super().__init__(*args)
        self._host, first = host, self._hub
        assert first.parent is not None
        self._ranks[0], self._hub = first, first.parent
        for rank in self._ranks[1:]:
            rank.parent = self._hub

    def stop(self) -> None:
        if greenlet.getcurrent() in (self._hub, *self._ranks):
            super().stop()
        else:  # the caller's thread: they can be unwound in their own only
            self.close()
            self._host.stop()


def _ends(thread: threading.Thread) -> bool:
    """Whether it ends: RankStopped is raised in it, again and again, wherever it runs the program in Python.

    One that does not waits outside of Python, and is no rank any more.
    """
    until = time.monotonic() + _PATIENCE_S
    with unraisable_unseen():
        while thread.is_alive() and time.monotonic() < until:
            frame = sys._current_frames().get(thread.ident or 0)
            while frame is not None and is_ours(frame.f_code.co_filename):
                frame = frame.f_back
            if frame is not None:
                raise_in(thread.ident or 0, RankStopped)
            thread.join(_LOOK_S)
    if thread.is_alive():
        thread.name = f"left {thread.name}"
    return not thread.is_alive()


def _taken_lock() -> threading.Lock:
    """A baton that nobody has: to acquire it is to wait for it."""
    lock = threading.Lock()
    lock.acquire()
    return lock


def _hand_over(baton: threading.Lock) -> None:
    if baton.locked():
        baton.release()
