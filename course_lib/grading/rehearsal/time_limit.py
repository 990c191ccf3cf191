"""The clock of a case in the notebook's check: it ends what is busy for too long, or waits, in whatever thread.

The rule: once the limit is reached a program gets no further. OutOfTime is raised at its next line of Python, and again
whenever something swallows it (a weakref callback, a `__del__`, an `except`), until the limited block is left. Our own
code, which tidies up then, is not interrupted. What never comes back to Python, no exception can end.
"""

from __future__ import annotations

import contextlib
import ctypes
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any, TypeVar

from course_lib.comm.simulator.stacks import RankStopped, ThreadRanks, unraisable_unseen
from course_lib.comm.source_location import belongs_to_program, is_ours, locate
from course_lib.grading.alone import apply_settings, settings
from course_lib.grading.judge import persistent

LOOKS = 100  # at a rank that is busy, until one finds it on a line of the student
SLICE_S, WORKING_SHARE = 0.25, 0.01  # how often it is looked whether anything works, and what counts as work
TIDYING_S = 20.0  # that our own code gets; if nothing has ended by then, the exception was lost in it

Value = TypeVar("Value")


class OutOfTime(TimeoutError):
    """Says which rank was busy, and on which line; a class for each, for Python raises only classes elsewhere."""

    words = ""
    rank = 0
    line = ""

    def __str__(self) -> str:
        return self.words


@contextlib.contextmanager
def within(limit_s: float) -> Iterator[None]:
    """Raise OutOfTime once so much time has been worked, or so much idled away.

    These are the judge's clocks: what others do on this machine does not count. `simulate` then ends its ranks. A call
    that may wait for ever goes through `can_be_left`.
    """
    with _by_signals(limit_s) if _gets_signals() else _by_a_thread(limit_s):
        yield


def can_be_left(call: Callable[[], Value]) -> Value:
    """What this call gives; a thread without signals has it made in another one, and can leave it there.

    That one is a simulated rank's, so what holds for ranks holds for it.
    """
    if _gets_signals():
        return call()
    values, errors = list[Value](), list[BaseException]()
    turns, now = iter([0]), settings()

    def live(_: int) -> None:
        apply_settings(now)
        try:
            values.append(call())
        except RankStopped:
            raise
        except BaseException as error:
            errors.append(error)

    ThreadRanks(1, live, lambda: next(turns, None)).run()
    if errors:
        raise errors[0]
    return values[0]


def _gets_signals() -> bool:
    return threading.current_thread() is threading.main_thread() and hasattr(signal, "setitimer")


@contextlib.contextmanager
def _by_signals(limit_s: float) -> Iterator[None]:
    limit, outermost = _Limit(limit_s, lambda: time.process_time()), _caller()
    deaf = False
    with contextlib.ExitStack() as over:

        def look(number: int, frame: FrameType | None) -> None:
            nonlocal deaf
            in_program = _in_program(frame, outermost)
            if deaf or not limit.is_to_raise(in_program):
                return
            if not limit.about:
                deaf = True  # for looking takes longer than a slice
                limit.about = limit.found() | ({"line": str(locate(frame))} if in_program else {})
                over.enter_context(unraisable_unseen())
                deaf = False
            raise persistent(OutOfTime, number, **limit.about)

        handler = signal.signal(signal.SIGALRM, look)
        timer = signal.setitimer(signal.ITIMER_REAL, limit.slice_s, limit.slice_s)  # interrupts whoever is busy
        try:
            yield
        finally:
            deaf, outermost = True, None  # or frames would keep each other
            signal.setitimer(signal.ITIMER_REAL, *timer)
            signal.signal(signal.SIGALRM, handler)


@contextlib.contextmanager
def _by_a_thread(limit_s: float) -> Iterator[None]:
    """The same, with a watchdog thread that polls the clocks."""
    me, outermost = threading.get_ident(), _caller()
    limit = _Limit(limit_s, _Clock(me).worked_s)
    over, raising = threading.Event(), threading.Lock()

    def look() -> None:
        while not over.wait(limit.slice_s):
            with raising:
                in_program = _in_program(sys._current_frames().get(me), outermost)
                if not over.is_set() and limit.is_to_raise(in_program):
                    limit.about = limit.about or limit.found()
                    _raise_in(me, type("OutOfTime", (OutOfTime,), limit.about))

    looking = threading.Thread(target=look, name="limit of a check", daemon=True)
    looking.start()
    try:
        yield
    finally:
        while not over.is_set():  # what was to be raised comes now, perhaps
            with contextlib.suppress(OutOfTime), raising:
                over.set()
        _raise_in(me, None)
        outermost = None


class _Limit:
    """What has been worked and idled away, and what is to be said when it is too much.

    Args:
        worked_s: time of work so far, from any beginning.
    """

    def __init__(self, limit_s: float, worked_s: Callable[[], float]) -> None:
        self.limit_s, self.slice_s = limit_s, min(SLICE_S, limit_s / 10)
        self.about: dict[str, Any] = {}  # of what is raised: what was found when the limit was reached
        self._worked_s = worked_s
        self._idle_s = self._raised_s = 0.0
        self._began_s = self._last_s = worked_s()

    def is_to_raise(self, in_program: bool) -> bool:
        """Whether OutOfTime is to be raised now. It is asked after each slice, and then after each OutOfTime.

        Args:
            in_program: whether the program runs, or something that it has called.
        """
        if not self._raised_s:
            self._last_s, last_s = self._worked_s(), self._last_s
            self._idle_s += self.slice_s * (self._last_s - last_s < WORKING_SHARE * self.slice_s)
            is_to_raise = max(self._idle_s, self._last_s - self._began_s) >= self.limit_s
        else:
            is_to_raise = in_program or time.monotonic() - self._raised_s > TIDYING_S
        if is_to_raise:
            self._raised_s = time.monotonic()
        return is_to_raise

    def found(self) -> dict[str, Any]:
        """What is said of the program that goes on now."""
        rank, line = _running()
        limit, waits = f"{self.limit_s:g} s", self._idle_s >= self.limit_s
        words = f"still waiting after {limit}" if waits else f"still busy after {limit} of CPU time"
        return {"words": words, "rank": rank, "line": line}


class _Clock:
    """Processor time of a thread and of the simulated ranks that run for it: theirs, not that of others beside it."""

    def __init__(self, thread: int) -> None:
        self._thread = thread
        self._ranks: dict[int, float] = {}

    def worked_s(self) -> float:
        for each in threading.enumerate():
            if each.name.startswith("rank "):
                self._ranks[each.ident or 0] = self._seconds_of(each.ident or 0)
        return self._seconds_of(self._thread) + sum(self._ranks.values())

    def _seconds_of(self, thread: int) -> float:
        if not hasattr(time, "pthread_getcpuclockid"):
            return time.process_time() if thread == self._thread else 0.0
        try:
            return time.clock_gettime(time.pthread_getcpuclockid(thread))
        except OSError:  # it has ended meanwhile
            return self._ranks.get(thread, 0.0)


def _raise_in(thread: int, error: type[BaseException] | None) -> None:
    """At that thread's next line of Python; None takes back what was not yet raised."""
    raised = None if error is None else ctypes.py_object(error)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), raised)


def _caller() -> FrameType | None:
    """Who uses `within`."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename in (__file__, contextlib.__file__):
        frame = frame.f_back
    return frame


def _in_program(frame: FrameType | None, outermost: FrameType | None) -> bool:
    """Whether the program, or what it has called, is what runs here, inside of the outermost frame."""
    while frame is not None and frame is not outermost:
        if belongs_to_program(frame.f_code.co_filename):
            return True
        frame = frame.f_back
    return False


def _running() -> tuple[int, str]:
    """The rank that runs now, and the student's line that it is on: all others wait in code of ours.

    So may the one that runs, in what it calls, and is looked at again.
    """
    for _ in range(LOOKS):
        frames = sys._current_frames()
        for thread in threading.enumerate():
            frame = frames.get(thread.ident or 0)
            if thread.name.startswith("rank ") and frame is not None and not is_ours(frame.f_code.co_filename):
                return int(thread.name.removeprefix("rank ")), str(locate(frame))
        time.sleep(0.001)  # lets it run on
    return 0, ""
