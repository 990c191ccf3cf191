"""One case of an exercise in the student's own process: under `simulate`, or, without ranks, call by call."""

from __future__ import annotations

import contextlib
import copy
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Any

import torch

from course_lib.comm import simulate
from course_lib.comm.errors import CommError, DeadlockError, MismatchError, RankError, UnmatchedError
from course_lib.comm.source_location import describe_line, is_ours, locate
from course_lib.comm.trace import Trace
from course_lib.grading.exercise import Case, Exercise, Failure, Outcome, refused_dtype
from course_lib.grading.sandbox.cells import refuse_unrun
from course_lib.grading.sandbox.frames import snapshot
from course_lib.grading.sandbox.sends import Sends

__all__ = ["LIMIT_S", "run_case"]

LIMIT_S = 10.0  # of one case; the slowest honest answer needs a tenth of a second
KINDS = {DeadlockError: "deadlock", MismatchError: "mismatch", UnmatchedError: "unmatched"}


def run_case(exercise: Exercise, case: Case, function: Callable) -> Outcome:
    """What comes of this function on this case: values and trace, or the failure."""
    nothing = [None] * len(case.expected)
    try:
        with _within(LIMIT_S):
            if exercise.mode == "function":
                return _calls(exercise, case, function)
            arguments = (function, list(case.inputs), exercise.answer, exercise.dtypes)
            report = simulate(_on_rank, world_size=case.world_size, args=arguments, network=exercise.network)
            return Outcome(report.results, report.trace)
    except CommError as error:
        return Outcome(nothing, Trace(case.world_size, []), _failure(error))
    except (Exception, SystemExit) as error:
        return Outcome(nothing, Trace(case.world_size, []), _raised(error))


def _calls(exercise: Exercise, case: Case, function: Callable) -> Outcome:
    """A call for each of the inputs; the first that raises is the failure."""
    values: list[Any] = []
    for inputs in case.inputs:
        try:
            values.append(snapshot(_value(function, copy.deepcopy(inputs), exercise.answer)))
        except (Exception, SystemExit) as error:
            return Outcome([None] * len(case.expected), Trace(1, []), _raised(error, len(values)))
    return Outcome(values, Trace(1, []))


def _on_rank(comm: Any, function: Callable, inputs: list, answer: str, dtypes: Sequence[torch.dtype]) -> Any:
    watched = _Watched(comm, dtypes)
    value = _value(function, inputs[comm.rank], answer, watched)
    watched.sends.ended()
    return value


def _value(function: Callable, inputs: tuple, answer: str, *first: Any) -> Any:
    returned = function(*first, *inputs)
    refuse_unrun(returned)
    return returned if answer == "return" else inputs[0]


class _Watched:
    """A rank's communicator as the judge's is: links without a model, and refusals of other dtypes and of changes of
    what is being sent."""

    network = None

    def __init__(self, comm: Any, dtypes: Sequence[torch.dtype]) -> None:
        self._comm, self._dtypes, self._count, self.sends = comm, dtypes, 0, Sends()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._comm, name)

    def send(self, tensor: Any, dst: int) -> None:
        self._refuse_dtype(tensor, dst)
        self._comm.send(tensor, dst)

    def isend(self, tensor: Any, dst: int) -> Any:
        self._refuse_dtype(tensor, dst)
        work = self._comm.isend(tensor, dst)
        frame = sys._getframe(1)
        work.where = frame.f_code, frame.f_lasti
        self._count += 1
        self.sends.began(self._count, tensor, str(locate(frame)))
        return _WatchedSend(work, self.sends, self._count)

    def _refuse_dtype(self, tensor: Any, dst: int) -> None:
        wrong = refused_dtype(self._dtypes, tensor, self.rank, dst) if isinstance(tensor, torch.Tensor) else None
        if wrong:
            raise DtypeRefused(f"{wrong} ({locate(sys._getframe(1))})")


class DtypeRefused(TypeError):
    """A message of a dtype that the exercise does not have."""


class _WatchedSend:
    """What `isend` returns; its wait looks whether the tensor is as it was."""

    def __init__(self, work: Any, sends: Sends, number: int) -> None:
        self._work, self._sends, self._number = work, sends, number

    def __getattr__(self, name: str) -> Any:
        return getattr(self._work, name)

    def wait(self) -> bool:
        self._sends.waited(self._number)
        return self._work.wait()


@contextlib.contextmanager
def _within(limit_s: float) -> Iterator[None]:
    """Raise TimeoutError after so many seconds, where the system can do that; `simulate` then ends its ranks."""
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def out_of_time(*_: Any) -> None:
        raise _OutOfTime(limit_s)

    handler = signal.signal(signal.SIGALRM, out_of_time)
    timer = signal.setitimer(signal.ITIMER_REAL, limit_s)  # this signal interrupts the main thread, whoever is busy
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, *timer)
        signal.signal(signal.SIGALRM, handler)


class _OutOfTime(TimeoutError):
    """Says which rank was busy, and on which line."""

    def __init__(self, limit_s: float) -> None:
        self.rank, self.line = _running()
        super().__init__(f"still busy after {limit_s:g} s")


def _running() -> tuple[int, str]:
    """The rank that runs now, and the student's line that it is on: all others wait in code of ours."""
    frames = sys._current_frames()
    for thread in threading.enumerate():
        frame = frames.get(thread.ident or 0)
        if thread.name.startswith("rank ") and frame is not None and not is_ours(frame.f_code.co_filename):
            return int(thread.name.removeprefix("rank ")), str(locate(frame))
    return 0, ""


def _failure(error: CommError) -> Failure:
    if isinstance(error, RankError):
        return _exception(error.cause_type, error.cause_text, error.rank, str(error).split("\n\n")[0])
    return Failure.of(error, KINDS.get(type(error), "died"))


def _raised(error: BaseException, call: int = 0) -> Failure:
    """A function without ranks raised this, or the time ran out."""
    name, text, line = type(error).__name__, str(error), _line_of(error.__traceback__)
    if isinstance(error, _OutOfTime):
        line = error.line or line
        who = f"rank {error.rank}" if line else "the program, or the messages between its ranks,"
        words = f"{who} was {text}" + f", in {line}" * bool(line) + " (an endless loop?)"
        return Failure("timeout", words, error.rank, line, "TimeoutError", call)
    failure = _exception(name, text, 0, f"rank 0 raised {name}: {text}" + f" ({line})" * bool(line))
    return Failure(failure.kind, failure.text, 0, line, name, call)


def _line_of(traceback: TracebackType | None) -> str:
    """The student's innermost line."""
    line = ""
    while traceback:
        code = traceback.tb_frame.f_code
        if not is_ours(code.co_filename):
            line = describe_line(code.co_filename, traceback.tb_lineno)
        traceback = traceback.tb_next
    return line


def _exception(cause: str, text: str, rank: int, words: str) -> Failure:
    if cause == "NotImplementedError":
        words = "not attempted yet: the function still raises NotImplementedError"
        return Failure("not attempted", words, rank, "", cause)
    if cause == DtypeRefused.__name__:
        return Failure("dtype", text, rank)
    return Failure("exception", words, rank, "", cause)
