"""The ends of processes that `fork_server` has started."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from typing import Any

from course_lib.comm.processes.fork_server import wake_fork_server

__all__ = ["how_it_ended", "join", "kill_with_children"]

_PATIENCE_S = 5.0  # with the exit code of a process that is dead
_LOOK_S = 0.25  # how often the fork server is looked after meanwhile: it tells exit codes


def kill_with_children(process: Any) -> None:
    """End a process and what it has started: they form a process group, but for those that have left it.

    Where the process is dead already, what it has started in a session of its own is nobody's child, and goes on.
    """
    left = _children(process.pid)
    if hasattr(os, "killpg"):
        with contextlib.suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    for pid in left:
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)


def _children(pid: int) -> list[int]:
    """What a process has started, and what these have, where Linux tells."""
    found: list[int] = []
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children") as file:
                found += map(int, file.read().split())
    return found + [grandchild for child in found for grandchild in _children(child)]


def join(process: Any, patience_s: float) -> None:
    """Wait until a process that was killed is dead, and give back what it held here."""
    _exit_code(process, patience_s)
    with contextlib.suppress(ValueError):  # it is not dead yet
        process.close()


def _exit_code(process: Any, patience_s: float) -> int | None:
    """The exit code as soon as it is known; None if that is not so in time."""
    until_s = time.monotonic() + patience_s
    while process.exitcode is None and time.monotonic() < until_s:
        wake_fork_server()
        process.join(_LOOK_S)
    return process.exitcode


def how_it_ended(process: Any) -> str:
    """A dead process's exit code or signal, in words."""
    code = _exit_code(process, _PATIENCE_S)
    if code is None:
        return "it has closed its pipe"
    return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
