"""A stack of its own for each simulated rank: greenlets (fast, for thousands) or threads (free to use all of torch).

A function that a rank starts gets a stack too, with a number after those of the ranks.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any, Protocol

import greenlet
import torch

from course_lib.comm.errors import FOREIGN
from course_lib.comm.simulator.torch_state import FRESH, differing, is_fresh, thread_state
from course_lib.comm.source_location import is_ours


class RankStopped(BaseException):
    """Unwinds a rank whose simulation is over. Not an Exception, so that a program's own handlers let it pass.

    Who ends with it calls `take_back` first: where it came from another thread it would come again.
    """

    take_back: Callable[[], object] = staticmethod(bool)


class Switching(Protocol):
    """Coroutine-like stacks of ranks that take turns.

    Args:
        body: runs one rank to its end; called with the rank.
        choose: the rank whose turn it is, or None if no rank can go on.
    """

    word: str

    def __init__(self, world_size: int, body: Callable[[int], None], choose: Callable[[], int | None]) -> None: ...

    def add(self) -> int:
        """One more stack; returns its number."""

    def run(self) -> None:
        """Let ranks run until none can."""

    def switch_from(self, me: int) -> None:
        """Let others run; returns when it is rank `me`'s turn again.

        Raises:
            RuntimeError: if it is another stack that asks, or one that may not wait here.
        """

    def refuse_ended(self) -> None:
        """Raise RuntimeError if a rank that ends here would leave others what only it may have."""

    def stop(self) -> None:
        """Unwind every rank that has not finished."""

    def frame_of(self, rank: int) -> FrameType | None:
        """Where a blocked rank stands."""


def refuse_to_switch() -> int | None:
    """Replaces `choose` once the simulation is over: a rank that communicates while it unwinds is stopped again."""
    raise RankStopped


# --- Ranks as greenlets of one thread: fast, for thousands of ranks.


class GreenletRanks(Switching):
    """Ranks as greenlets of the thread that makes it: a switch costs 0.2 microseconds.

    They share what torch keeps for each thread. So a rank may wait only where that is as it was at the beginning.
    """

    word = "greenlets"

    def __init__(self, world_size: int, body: Callable[[int], None], choose: Callable[[], int | None]) -> None:
        self._hub, self._state = greenlet.getcurrent(), thread_state()
        self._begins_fresh = is_fresh()
        self._ranks = [greenlet.greenlet(body, self._hub) for _ in range(world_size)]
        self._body = body
        self._choose = choose
        self._stopping = False
        self._to_begin: int | None = None
        self._has_more = False  # more stacks than ranks

    def add(self) -> int:
        self._ranks.append(greenlet.greenlet(self._body, self._hub))
        self._has_more = True
        return len(self._ranks) - 1

    def run(self) -> None:
        while not self._stopping and (rank := self._choose() if self._to_begin is None else self._to_begin) is not None:
            self._to_begin = None
            self._ranks[rank].switch(rank) if not self._ranks[rank] else self._ranks[rank].switch()

    def switch_from(self, me: int) -> None:
        if self._has_more and greenlet.getcurrent() is not self._ranks[me]:
            raise RuntimeError(FOREIGN)
        if not (self._begins_fresh and is_fresh()) and (state := thread_state()) != self._state:
            raise RuntimeError(
                f"this program communicates {differing(state, self._state)}, which greenlets would mix up "
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

    def refuse_ended(self) -> None:
        if (state := thread_state()) != self._state:
            raise RuntimeError(
                f"this program ends {differing(state, self._state)}, which greenlets would leave to other ranks: "
                'pass ranks="threads" to simulate()'
            )

    def stop(self) -> None:
        self.close()
        me = greenlet.getcurrent()
        for rank in self._ranks:
            if rank and rank is not me:
                rank.parent = me
                rank.throw(RankStopped)

    def close(self) -> None:
        """Let no rank go on; they are unwound when `stop` is called in their thread."""
        self._stopping, self._choose = True, refuse_to_switch

    @property
    def unfinished(self) -> bool:
        """True if a rank has begun and not ended."""
        return any(self._ranks)

    def frame_of(self, rank: int) -> FrameType | None:
        return self._ranks[rank].gr_frame


# --- An asynchronous exception for another thread that is raised there again whenever something there has caught it.
#
# Python swallows what a weakref callback or a `__del__` raises, and a program may catch all. So once is not enough.


# As in `ctypes.pythonapi`, but it returns nothing, so that it can stand for an exception's `__init__`.
_set_exception = ctypes.PYFUNCTYPE(None, ctypes.c_ulong, ctypes.py_object)(
    ("PyThreadState_SetAsyncExc", ctypes.pythonapi)
)


def raise_in(thread: int, error: type[BaseException]) -> None:
    """Raise this exception at that thread's next line of Python, and again until its `take_back` is called there.

    Python makes an exception's instance when something catches it. So the instance's making orders the next exception,
    and whatever the handler does is interrupted, too. `take_back` must be the first that the last handler calls.
    """
    again: Any = type(error.__name__, (error,), {"__module__": error.__module__})
    again.__init__ = staticmethod(functools.partial(_set_exception, thread, again))
    again.take_back = staticmethod(functools.partial(_set_exception, thread, ctypes.py_object()))
    _set_exception(thread, again)


@contextlib.contextmanager
def unraisable_unseen() -> Iterator[None]:
    """Suppress "unraisable" exceptions: those of weakref callbacks and `__del__` would be printed hundreds of times.

    The hook is not written in Python, for then it would be interrupted itself. Several threads may be in here at once.
    """
    hook, sys.unraisablehook = sys.unraisablehook, bool
    try:
        yield
    finally:
        if hook is not bool:
            sys.unraisablehook = hook


# --- Ranks as threads that take turns by a lock, the baton: slower, and free to do anything that torch can.


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
            self._stopping, self._choose = True, refuse_to_switch
            if self._running is not None and not _stop_thread(self._running):  # it may be in an endless loop
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
        """Wake the caller's thread; this thread then ends."""
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
        self._stopping, self._choose = True, refuse_to_switch
        me, until = threading.current_thread(), time.monotonic() + _PATIENCE_S
        for rank, thread in enumerate(self._threads):
            if thread is not None and thread not in (me, self._left) and thread.is_alive():
                _hand_over(self._batons[rank])
                thread.join(max(_LEAST_S, until - time.monotonic()))
                _stop_thread(thread)
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


def _stop_thread(thread: threading.Thread) -> bool:
    """Stop a thread: raise RankStopped in it, again and again, wherever it runs the program's Python. True if it ends.

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
    """A lock that is taken already: to acquire it is to wait for its release."""
    lock = threading.Lock()
    lock.acquire()
    return lock


def _hand_over(baton: threading.Lock) -> None:
    if baton.locked():
        baton.release()
