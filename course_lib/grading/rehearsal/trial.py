"""One case of an exercise in the student's own process: under `simulate`, or, without ranks, call by call."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import itertools
import pickle
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from types import FrameType, TracebackType
from typing import Any

import torch

from course_lib.comm import simulate
from course_lib.comm.errors import (
    CommError,
    DeadlockError,
    MismatchError,
    RankError,
    TransportError,
    UnmatchedError,
)
from course_lib.comm.group import Group
from course_lib.comm.source_location import belongs_to_program, describe_line, is_ours, locate
from course_lib.comm.trace import Trace
from course_lib.grading.exercise import CASE_S, Case, Exercise, Failure, Outcome, refused_dtype
from course_lib.grading.rehearsal.own_classes import pack_own, unpack_own
from course_lib.grading.sandbox.alike import as_under_grading
from course_lib.grading.sandbox.cells import refuse_unrun
from course_lib.grading.sandbox.tensors import snapshot
from course_lib.grading.sandbox.transfers import Transfers

__all__ = ["LIMIT_S", "run_case"]

LOOKS = 100  # at a rank that is busy, until one finds it on a line of the student
LIMIT_S = float(CASE_S)  # of one case; the slowest honest answer needs a tenth of a second
SLICE_S, WORKING_SHARE = 0.25, 0.01  # how often it is looked whether anything works, and what counts as work
KINDS = {DeadlockError: "deadlock", MismatchError: "mismatch", UnmatchedError: "unmatched"}


def run_case(exercise: Exercise, case: Case, function: Callable[..., Any]) -> Outcome:
    """What comes of this function on this case: values and trace, or the failure.

    Each case, and each simulated rank, has globals and classes of its own, as a process has; but pickle knows those of
    the notebook alone.
    """
    outcome = _outcome(exercise, case, function, unpack_own)
    if outcome.failure is not None and outcome.failure.cause == "PicklingError":
        return _outcome(exercise, case, function, pickle.loads)
    return outcome


def _outcome(exercise: Exercise, case: Case, function: Callable[..., Any], unpacked: Callable[[bytes], Any]) -> Outcome:
    nothing = [None] * len(case.expected)
    try:
        with _within(LIMIT_S), as_under_grading(belongs_to_program), _no_running_loop():
            if exercise.mode == "function":
                return _calls(exercise, case, _own(function, unpacked))
            starts = list(zip(case.begins_s or [0.0] * case.world_size, case.inputs, strict=True))
            with pack_own(function) as packed:
                arguments = (packed, starts, exercise.way, exercise.dtypes, unpacked)
                report = simulate(_on_rank, world_size=case.world_size, args=arguments, network=exercise.network)
            return Outcome(report.results, report.trace)
    except CommError as error:
        return Outcome(nothing, Trace(case.world_size, []), _failure(error))
    except (Exception, SystemExit) as error:
        return Outcome(nothing, Trace(case.world_size, []), _raised(error))


def _own(function: Callable[..., Any], unpacked: Callable[[bytes], Any]) -> Callable[..., Any]:
    """The function with globals that no other case has; itself, where they hold what cannot be copied."""
    try:
        with pack_own(function) as packed:
            own: Callable[..., Any] = unpacked(packed)[0]
    except TransportError:
        return function
    return own


def _calls(exercise: Exercise, case: Case, function: Callable[..., Any]) -> Outcome:
    """A call for each of the inputs; the first that raises is the failure."""
    values: list[Any] = []
    for inputs in case.inputs:
        try:
            values.append(_value(function, _unshared(inputs), exercise.way))
        except (Exception, SystemExit) as error:
            return Outcome([None] * len(case.expected), Trace(1, []), _raised(error, len(values)))
    return Outcome(values, Trace(1, []))


def _unshared(value: Any) -> Any:
    """A copy in which no list is there twice, as under the judge: what changes one changes no other."""
    return type(value)(map(_unshared, value)) if type(value) in (list, tuple) else copy.deepcopy(value)


def _on_rank(
    comm: Any,
    packed: bytes,
    starts: list[tuple[float, Any]],
    way: str,
    dtypes: Sequence[torch.dtype],
    unpacked: Callable[[bytes], Any],
) -> Any:
    function, watched = unpacked(packed)[0], _Watched(comm, dtypes)
    begins_s, inputs = starts[comm.rank]
    if begins_s:
        comm.compute(begins_s)
    value = _value(function, inputs, way, watched)
    watched.transfers.ended()
    return value


def _value(function: Callable[..., Any], inputs: tuple[Any, ...], way: str, *first: Any) -> Any:
    returned = function(*first, *inputs)
    refuse_unrun(returned, way)
    return snapshot(inputs[0] if way == "in place" else returned)


class _Watched:
    """A rank's communicator that refuses what the judge refuses: other dtypes, and tensors used while under way."""

    network = None  # the judge's ranks do not know theirs

    def __init__(self, comm: Any, dtypes: Sequence[torch.dtype], beside: _Watched | None = None) -> None:
        self._comm, self._dtypes = comm, dtypes
        self._count: itertools.count[int] = beside._count if beside else itertools.count()
        self.transfers: Transfers = beside.transfers if beside else Transfers()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._comm, name)

    def send(self, tensor: Any, dst: int) -> None:
        if isinstance(tensor, torch.Tensor):
            self._refuse_dtype(tensor, dst)
            self.transfers.refuse_arriving(tensor, str(locate()))
        self._comm.send(_plain(tensor), dst)

    def recv(self, tensor: Any, src: int | None = None) -> int:
        if isinstance(tensor, torch.Tensor):
            self.transfers.refuse_shared(tensor, str(locate()))
        return self._comm.recv(tensor, src)

    def isend(self, tensor: Any, dst: int) -> Any:
        if isinstance(tensor, torch.Tensor):
            self._refuse_dtype(tensor, dst)
        return self._watched(self._comm.isend(_plain(tensor), dst), tensor, self.transfers.sends)

    def irecv(self, tensor: Any, src: int | None = None) -> Any:
        return self._watched(self._comm.irecv(tensor, src), tensor, self.transfers.receives)

    def group(self, ranks: Sequence[int]) -> Group:
        return Group(self, ranks)  # type: ignore[arg-type]  # what it asks of a communicator, this one has

    def start(self, function: Any, *args: Any, **kwargs: Any) -> Any:
        if not callable(function):
            return self._comm.start(function)
        watched = lambda comm, *a, **k: function(_Watched(comm, self._dtypes, self), *a, **k)  # noqa: E731
        return self._comm.start(watched, *args, **kwargs)

    def _watched(self, work: Any, tensor: torch.Tensor, begins: Callable[[int, torch.Tensor, str], None]) -> Any:
        frame, number = _students_frame(), next(self._count)
        if frame is not None:
            work.where = frame.f_code, frame.f_lasti
        begins(number, tensor, str(locate()))
        return _WatchedWork(work, self.transfers, number)

    def _refuse_dtype(self, tensor: Any, dst: int) -> None:
        wrong = refused_dtype(self._dtypes, tensor, self.rank, dst)
        if wrong:
            raise DtypeRefused(f"{wrong} ({locate()})")


def _plain(tensor: Any) -> Any:
    """A tensor of a class of the student's without its class: a message has none, and each rank knows only its own."""
    if not isinstance(tensor, torch.Tensor) or type(tensor) in (torch.Tensor, torch.nn.Parameter):
        return tensor
    with torch._C.DisableTorchFunctionSubclass():
        return tensor.as_subclass(torch.Tensor)


def _students_frame() -> FrameType | None:
    frame = sys._getframe(1)
    while frame is not None and is_ours(frame.f_code.co_filename):
        frame = frame.f_back  # type: ignore[assignment]
    return frame


class _WatchedWork:
    """What `isend` and `irecv` return; its wait looks whether the tensor is as it was."""

    def __init__(self, work: Any, transfers: Transfers, number: int) -> None:
        self._work = work
        self._transfers = transfers
        self._number = number

    def __getattr__(self, name: str) -> Any:
        return getattr(self._work, name)

    def wait(self) -> bool:
        self._transfers.waited(self._number)
        return self._work.wait()

    def finish(self, verb: str) -> None:
        self._transfers.waited(self._number)
        self._work.finish(verb)


class DtypeRefused(TypeError):
    """A message of a dtype that the exercise does not have."""


@contextlib.contextmanager
def _no_running_loop() -> Iterator[None]:
    """Hide the event loop that a notebook's cells run in, as there is none under grading: `asyncio.run` refuses one."""
    loop = asyncio._get_running_loop()
    asyncio._set_running_loop(None)
    try:
        yield
    finally:
        asyncio._set_running_loop(loop)


@contextlib.contextmanager
def _within(limit_s: float) -> Iterator[None]:
    """Raise TimeoutError once so much time has been worked, or so much idled away, where the system can do that.

    These are the judge's clocks: what others do on this machine does not count. `simulate` then ends its ranks.
    """
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return
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
        raise _OutOfTime(
            f"still {'waiting' if waited else 'busy'} after {limit_s:g} s" + (" of CPU time" if not waited else "")
        )

    handler = signal.signal(signal.SIGALRM, look)
    timer = signal.setitimer(signal.ITIMER_REAL, slice_s, slice_s)  # interrupts the main thread, whoever is busy
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, *timer)
        signal.signal(signal.SIGALRM, handler)


class _OutOfTime(TimeoutError):
    """Says which rank was busy, and on which line."""

    def __init__(self, words: str) -> None:
        self.rank, self.line = _running()
        super().__init__(words)


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


def _failure(error: CommError) -> Failure:
    if isinstance(error, RankError):
        return _exception(error.cause_type, error.cause_text, error.rank, str(error).split("\n\n")[0])
    return Failure.of(error, KINDS.get(type(error), "died"))


def _raised(error: BaseException, call: int = 0) -> Failure:
    """A function without ranks raised this, or the time ran out."""
    name = type(error).__name__
    text = str(error)
    line = _line_of(error.__traceback__)
    if isinstance(error, _OutOfTime):
        line = error.line or line
        who = f"rank {error.rank}" if line else "the program, or the messages between its ranks,"
        words = f"{who} was {text}" + (f", in {line}" if line else "") + " (an endless loop?)"
        return Failure("timeout", words, error.rank, line, "TimeoutError", call)
    failure = _exception(name, text, 0, f"rank 0 raised {name}: {text}" + (f" ({line})" if line else ""))
    return Failure(failure.kind, failure.text, 0, line, name, call)


def _line_of(traceback: TracebackType | None) -> str:
    """The student's innermost line."""
    line = ""
    while traceback:
        code = traceback.tb_frame.f_code
        if belongs_to_program(code.co_filename):
            line = describe_line(code.co_filename, traceback.tb_lineno)
        traceback = traceback.tb_next
    return line


def _exception(cause: str, text: str, rank: int, words: str) -> Failure:
    if cause == "NotImplementedError" and not text:  # torch says what it cannot do
        words = "not attempted yet: the function still raises NotImplementedError"
        return Failure("not attempted", words, rank, "", cause)
    if cause == DtypeRefused.__name__:
        return Failure("dtype", text, rank)
    return Failure("exception", words, rank, "", cause)
