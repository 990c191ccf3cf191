"""Interrupts wait until nothing is left half done, wherever in a run they come."""

import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import psutil
import pytest

from course_lib import run
from course_lib.comm.processes import fork_server
from course_lib.comm.processes.fork_server import DeferredInterrupts, blocked_interrupts

COMM = str(Path(sys.modules[DeferredInterrupts.__module__].__file__).parent)


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def test_what_is_begun_inside_is_finished_before_the_interrupt():
    done = []

    def work() -> None:
        with DeferredInterrupts():
            interrupt()
            interrupt()
            done.append("finished")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == ["finished"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_it_may_be_delivered_inside_and_then_comes_once():
    with DeferredInterrupts() as interrupts:
        interrupts.deliver()
        interrupt()
        with pytest.raises(KeyboardInterrupt):
            interrupts.deliver()
        interrupts.deliver()


def test_inside_one_another_the_outer_one_decides():
    done = []

    def work() -> None:
        with DeferredInterrupts():
            with DeferredInterrupts() as inner:
                interrupt()
                inner.deliver()
            done.append("finished")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == ["finished"]


def test_a_handler_of_the_programs_own_hears_it():
    heard = []
    before = signal.signal(signal.SIGINT, lambda number, _frame: heard.append(number))
    try:
        with DeferredInterrupts():
            interrupt()
            assert heard == []
        assert heard == [signal.SIGINT]
    finally:
        signal.signal(signal.SIGINT, before)


def test_other_threads_change_no_handler():
    seen = []

    def other() -> None:
        with DeferredInterrupts():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    assert seen == [signal.default_int_handler]


def test_a_process_begins_with_interrupts_blocked():
    code = "import signal; print(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, []))"
    with blocked_interrupts():
        inside = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout
    after = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout
    assert (inside, after) == ("True\n", "False\n")


class InterruptAt:
    """Interrupts this process, twice, when it comes to the line of this number among those of the processes package."""

    def __init__(self, number: int) -> None:
        self.number, self.lines = number, 0

    def __enter__(self) -> "InterruptAt":
        sys.settrace(self._enter)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(None)

    def _enter(self, frame: FrameType, _event: str, _arg: object) -> object:
        return self._line if frame.f_code.co_filename.startswith(COMM) else None

    def _line(self, _frame: FrameType, event: str, _arg: object) -> object:
        self.lines += event == "line"
        if self.lines in (self.number, self.number + 3):
            interrupt()
        return self._line


@pytest.fixture
def nothing_stays(tmp_path, monkeypatch) -> Iterator[None]:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    before = {name: os.environ.get(name) for name in fork_server._QUIET}
    others = set(psutil.Process().children(recursive=True))  # a grader of other tests lives as long as they
    yield
    assert list(tmp_path.glob("course-run-*")) == []
    left = set(psutil.Process().children(recursive=True)) - others
    ranks = [p for p in left if p.ppid() != os.getpid()]
    assert psutil.wait_procs(ranks, timeout=5)[1] == []
    assert {name: os.environ.get(name) for name in fork_server._QUIET} == before
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert run(lambda comm: comm.rank, 2).results == [0, 1]


LINES = 40


@pytest.fixture(scope="module")
def lines_of_a_run() -> int:
    run(lambda comm: None, 2)
    with InterruptAt(-10) as counting:
        run(lambda comm: None, 2)
    return counting.lines


@pytest.mark.parametrize(
    "part", [pytest.param(part, marks=[pytest.mark.exhaustive] * (part % 6 != 0)) for part in range(LINES)]
)
def test_an_interrupt_at_any_line_of_a_run_leaves_nothing(part, lines_of_a_run, nothing_stays):
    def interrupted() -> None:
        with InterruptAt(1 + lines_of_a_run * part // LINES):
            run(lambda comm: comm.barrier(), 2)
            interrupt()  # the run was over before that line

    with pytest.raises(KeyboardInterrupt):
        interrupted()


@pytest.mark.slow
def test_an_interrupt_of_a_run_that_waits_for_the_fork_server_says_nothing_and_the_next_run_works(tmp_path):
    script = """
import os, signal, threading, time
from course_lib import run, warm_up
warm_up()
threading.Timer(0.2, os.killpg, (0, signal.SIGINT)).start()  # as Ctrl-C and JupyterLab do: the whole group
try:
    while True:
        run(lambda comm: None, 2)
except KeyboardInterrupt:
    print("interrupted")
print(run(lambda comm: comm.rank, 2).results)
"""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", script], **pipes, start_new_session=True, cwd=tmp_path) as process:
        assert process.communicate(timeout=100) == ("interrupted\n[0, 1]\n", "")
