"""The clock of a case in the notebook's check: it ends what is busy for too long, or waits, in whatever thread."""

from __future__ import annotations

import contextlib
import ctypes
import signal
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

from course_lib.comm.source_location import is_ours, locate

__all__ = ["OutOfTime", "within"]

LOOKS = 100  # at a rank that is busy, until one finds it on a line of the student
SLICE_S, WORKING_SHARE = 0.25, 0.01  # how often it is looked whether anything works, and what counts as work


class OutOfTime(TimeoutError):
    """Says which rank was busy, and on which line."""

    def __init__(self, words: str, rank: int, line: str) -> None:
        super().__init__(words)
        self.rank, self.line = rank, line


@contextlib.contextmanager
def within(limit_s: float) -> Iterator[None]:
    """Raise OutOfTime once so much time has been worked, or so much idled away, where the system can do that.

    These are the judge's clocks: what others do on this machine does not count. `simulate` then ends its ranks. In a
    thread that is not the main one nobody can end what waits, only what is busy.
    """
    if threading.current_thread() is not threading.main_thread():
        with _within_a_thread(limit_s):
            yield
    elif not hasattr(signal, "setitimer"):
        yield
    else:
        with _within_the_main_thread(limit_s):
            yield


@contextlib.contextmanager
def _within_the_main_thread(limit_s: float) -> Iterator[None]:
    slice_s, idle_s = min(SLICE_S, limit_s / 10), 0.0
    began_s = last_s = time.process_time()

    def look(*_: Any) -> None:
        nonlocal idle_s, last_s
        now_s = time.process_time()
        idle_s += slice_s * (now_s - last_s < WORKING_SHARE * slice_s)
        last_s = now_s
        if max(now_s - began_s, idle_s) < limit_s:
            return
        signal.setitimer(signal.ITIMER_REAL, 0)  # one is enough
        waited = idle_s >= limit_s
        raise OutOfTime(f"still waiting after {limit_s:g} s" if waited else _busy(limit_s), *_running()[:2])

    handler = signal.signal(signal.SIGALRM, look)
    timer = signal.setitimer(signal.ITIMER_REAL, slice_s, slice_s)  # interrupts the main thread, whoever is busy
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, *timer)
        signal.signal(signal.SIGALRM, handler)


@contextlib.contextmanager
def _within_a_thread(limit_s: float) -> Iterator[None]:
    """The same with a thread beside it that looks: it raises at the next line of Python of the one that is busy."""
    me, told = threading.get_ident(), list[OutOfTime]()
    over, raising = threading.Event(), threading.Lock()
    clock = _Clock(me)

    def look() -> None:
        while not over.wait(min(SLICE_S, limit_s / 10)):
            if clock.worked_s() >= limit_s:
                break
        with raising:
            if not over.is_set():
                rank, line, thread = _running()
                told.append(OutOfTime(_busy(limit_s), rank, line))
                _raise_in(thread or me, _made_without_arguments(told[0]))

    looking = threading.Thread(target=look, name="limit of a check", daemon=True)
    looking.start()
    try:
        yield
    except Exception as error:
        if told:
            raise told[0] from error
        raise
    finally:
        with raising:
            over.set()
        _raise_in(me, None)  # what was to be raised later


class _Clock:
    """Processor time of a thread and of the simulated ranks that run for it: theirs, not that of others beside it."""

    def __init__(self, thread: int) -> None:
        self._thread = thread
        self._began_s = self._seconds_of(thread)
        self._ranks: dict[int, float] = {}

    def worked_s(self) -> float:
        for each in threading.enumerate():
            if each.name.startswith("rank "):
                self._ranks[each.ident or 0] = self._seconds_of(each.ident or 0)
        return self._seconds_of(self._thread) - self._began_s + sum(self._ranks.values())

    def _seconds_of(self, thread: int) -> float:
        if not hasattr(time, "pthread_getcpuclockid"):
            return time.process_time() if thread == self._thread else 0.0
        try:
            return time.clock_gettime(time.pthread_getcpuclockid(thread))
        except OSError:  # it has ended meanwhile
            return self._ranks.get(thread, 0.0)


def _busy(limit_s: float) -> str:
    return f"still busy after {limit_s:g} s of CPU time"


def _made_without_arguments(error: OutOfTime) -> type[OutOfTime]:
    """A class whose one instance says the same: Python raises only classes in another thread."""
    return type("OutOfTime", (OutOfTime,), {"__init__": lambda self: OutOfTime.__init__(self, *_said(error))})


def _said(error: OutOfTime) -> tuple[str, int, str]:
    return str(error), error.rank, error.line


def _raise_in(thread: int, error: type[BaseException] | None) -> None:
    """At that thread's next line of Python; None takes back what was not yet raised."""
    raised = None if error is None else ctypes.py_object(error)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), raised)


def _running() -> tuple[int, str, int]:
    """The rank that runs now, the student's line that it is on, and its thread: all others wait in code of ours.

    So may the one that runs, in what it calls, and is looked at again.
    """
    for _ in range(LOOKS):
        frames = sys._current_frames()
        for thread in threading.enumerate():
            frame = frames.get(thread.ident or 0)
            if thread.name.startswith("rank ") and frame is not None and not is_ours(frame.f_code.co_filename):
                return int(thread.name.removeprefix("rank ")), str(locate(frame)), thread.ident or 0
        time.sleep(0.001)  # lets it run on
    return 0, "", 0
