"""Where a process is that says nothing: it writes its stacks when it gets a signal, and its parent reads them."""

from __future__ import annotations

import contextlib
import faulthandler
import os
import signal
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import psutil

from course_lib.comm.processes import started_functions
from course_lib.comm.source_location import belongs_to_program, describe_line

__all__ = ["Doing", "dump_on_signal", "what_they_do"]

_PATIENCE_S, _LOOK_S = 2.0, 0.05
_STOPPED = "is stopped (as by SIGSTOP)"
_RUNNING = "is still running"


class Doing(NamedTuple):
    """What a process does, in words: its program, and the functions that it started (nothing if none runs)."""

    program: str = _RUNNING
    started: str = ""


def dump_on_signal(folder: str, rank: int) -> None:
    """From now on this process writes the stacks of its threads into the folder whenever it gets SIGUSR1."""
    if hasattr(signal, "SIGUSR1"):
        faulthandler.register(signal.SIGUSR1, file=_path(folder, rank).open("w"), all_threads=True)


def what_they_do(pids: Mapping[int, int], folder: str) -> dict[int, Doing]:
    """What processes do now that are in no communication call, by rank, from their own stacks."""
    if not hasattr(signal, "SIGUSR1"):
        return dict.fromkeys(pids, Doing())
    for pid in pids.values():
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGUSR1)
    _wait_until_written([_path(folder, rank) for rank, pid in pids.items() if not _is_stopped(pid)])
    return {rank: _doing(pid, _path(folder, rank)) for rank, pid in pids.items()}


def _wait_until_written(paths: list[Path]) -> None:
    """Wait until there is something in every file and none grows any more, but not for ever."""
    until_s, before = time.monotonic() + _PATIENCE_S, None
    while time.monotonic() < until_s:
        time.sleep(_LOOK_S)
        sizes = [path.stat().st_size if path.exists() else 0 for path in paths]
        if all(sizes) and sizes == before:
            return
        before = sizes


def _is_stopped(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_STOPPED
    except psutil.Error:
        return False


def _path(folder: str, rank: int) -> Path:
    return Path(folder) / f"stack{rank}"


def _doing(pid: int, path: Path) -> Doing:
    if _is_stopped(pid):
        return Doing(_STOPPED)
    try:
        stacks = path.read_text(errors="replace").split("\n\n")
    except OSError:
        return Doing()
    program, started = _RUNNING, ""
    for stack in reversed(stacks):  # that of the main thread comes last
        location = program_line(stack)
        if location and started_functions.__file__ in stack:
            started = f"runs {location}"
        elif location and program == _RUNNING:
            program = f"runs {location}"
    return Doing(program, started)


def program_line(stack: str) -> str:
    """The source location of the innermost line of a stack that belongs to the program, or nothing."""
    for line in map(str.strip, stack.splitlines()):
        if not line.startswith('File "'):
            continue
        file, rest = line.removeprefix('File "').split('"', 1)
        number = rest.removeprefix(", line ").split(" ")[0]
        if belongs_to_program(file) and number.isdigit():
            return describe_line(file, int(number))
    return ""
