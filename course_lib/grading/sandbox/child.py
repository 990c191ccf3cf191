"""One rank under grading: hears what to run, runs it behind its walls, answers with the values, and ends."""

from __future__ import annotations

import linecache
import mmap
import os
import signal
import sys
from types import FrameType
from typing import Any

from . import stubs
from .alike import ONE_THREAD, for_good
from .cells import (
    CellClock,
    CellError,
    Missing,
    SlowCells,
    collect,
    in_a_cell,
    persistent,
    reasons,
    refuse_unrun,
    shortened,
)
from .communicator import FrameSocket, GradedCommunicator
from .confine import Walls, close_all_but, confine_rank
from .frames import UNREADABLE, Frame, with_tensors
from .stubs import NO_FILES
from .tensors import snapshot

NO_MEMORY = "it asked for more memory than a rank may take"
PRIVATE = {} if sys.platform == "win32" else {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS}
RESERVE_BYTES = 8 << 20  # kept so that a rank that has taken everything can still say so
OUT_OF_MEMORY = ("can't allocate memory", "std::bad_alloc")  # as torch says it


REFUSALS = {
    "PermissionError": NO_FILES,
    "can't start new thread": ONE_THREAD,
    "DistStoreError": "the communicator is all that connects the ranks here",
    "DistBackendError": "the communicator is all that connects the ranks here",
}


class _Sink:
    """Where prints go: nowhere."""

    encoding = "utf-8"
    errors = "replace"

    def write(self, text: str) -> int:
        return len(text)

    def flush(self) -> None:
        pass

    def isatty(self) -> bool:
        return False

    def fileno(self) -> int:
        raise OSError("no file under grading")


def live(descriptor: int, walls: Walls, slot: int, cpu_s: int) -> None:
    """Be a rank: build the walls, then do what the judge says over this descriptor. Does not return."""
    try:
        close_all_but(descriptor)
        sys.stdin = None
        sys.stdout = _Sink()
        sys.stderr = _Sink()
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        confine_rank(walls, slot, 2 * cpu_s + 1)  # for the cells, and for the calls
        for_good()
        judge = FrameSocket(descriptor)
        _, start = judge.hear()
        _tell(judge, *_answer(judge, cpu_s, start))
    finally:
        os._exit(0)


def _ask_in_time(cpu_s: int) -> None:
    """Raise TimeoutError on the student's own line once the CPU time is used up; the kernel ends it a second later.

    It is raised again as often as the student's code swallows it.
    """
    has_come = False

    def out_of_time(number: int, frame: FrameType | None) -> None:
        nonlocal has_come
        if in_a_cell(frame) or not has_come:
            has_come = True
            raise persistent(TimeoutError, number, __str__=lambda _: f"still busy after {cpu_s} s of CPU time")

    signal.signal(signal.SIGPROF, out_of_time)
    signal.setitimer(signal.ITIMER_PROF, cpu_s)


def _answer(judge: FrameSocket, cpu_s: int, start: list[Any]) -> Any:
    """The frame that answers: RESULT with the values, or ERROR with the student's line."""
    mode, rank, world_size, function, cells, calls, clock = start
    missing: Missing = []
    returned: list[Any] = []
    reserve = mmap.mmap(-1, RESERVE_BYTES, **PRIVATE)  # of the address space alone: nobody writes there
    try:
        if mode == "shorten":
            _ask_in_time(cpu_s)
            return Frame.RESULT, [[source for _, source in shortened(cells, function)], []]
        program, missing = collect(cells, function, CellClock(*clock))
        _ask_in_time(cpu_s)  # for all calls of this case
        calls = [[with_tensors(value) for value in call] for call in calls]
        comm = GradedCommunicator(judge, rank, world_size)
        stubs.begin()
        for call in calls:
            value = program(*[comm] * (mode != "function"), *call)
            refuse_unrun(value, mode)
            returned.append(None if mode == "in place" else snapshot(value))
        comm.refuse_changed_sends()
        return Frame.RESULT, [returned, snapshot(calls)]
    except (CellError, SlowCells) as error:
        return Frame.ERROR, [type(error).__name__, str(error)[:2000], "", 0]
    except BaseException as error:
        signal.signal(signal.SIGPROF, signal.SIG_IGN)  # what follows may free millions of objects; the kernel counts on
        reserve.close()
        name = type(error).__name__[:80]
        text = _text(error)
        line = _line_of(error)
        if name == "MemoryError" or any(words in text for words in OUT_OF_MEMORY):
            name, text = "MemoryError", NO_MEMORY
        elif name == "NameError":
            text += reasons(missing, str(getattr(error, "name", "")))
        elif name == "ModuleNotFoundError":
            text += f": {stubs.not_there(str(getattr(error, 'name', '')))}"
        else:
            more = (words for sign, words in REFUSALS.items() if sign in f"{name} {text}" and words not in text)
            text += "".join(f": {words}" for words in more)
        return Frame.ERROR, [name, text, line, len(returned)]


def _tell(judge: FrameSocket, kind: int, value: Any) -> None:
    """Send the answer, or why it cannot travel."""
    try:
        judge.tell(kind, value)
    except Exception as error:
        text = f"{UNREADABLE} ({type(error).__name__}: {_text(error)[:200]})"
        judge.tell(Frame.ERROR, ["ValueError", text, "", 0])


def _text(error: BaseException) -> str:
    try:
        return str(error)[:2000]
    except BaseException:
        return "(its text cannot be read)"


def _line_of(error: BaseException) -> str:
    """The student's innermost line in the traceback, with its text."""
    step, place = error.__traceback__, ""
    while step:
        filename = step.tb_frame.f_code.co_filename
        if filename.startswith("<code cell "):
            place = f"{filename[1:-1]}, line {step.tb_lineno}: {linecache.getline(filename, step.tb_lineno).strip()}"
        step = step.tb_next
    return place[:300]
