"""Start-up of a child process: signals, output, stack dumps, death with its parent; and orphans, which it left."""

from __future__ import annotations

import contextlib
import faulthandler
import linecache
import multiprocessing as mp
import os
import signal
import sys
import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, NamedTuple

import psutil

from course_lib.comm.processes.folder import remove
from course_lib.comm.source_location import adopt_cells, belongs_to_program, describe_line

_MARK = "COURSE_RANK_FILE"  # in the environment of what a rank starts


@dataclass(frozen=True)
class Surroundings:
    """What a child needs of its parent: the folder to work in, the notebook's cells, their numbers, the environment."""

    folder: str
    lines: dict[str, tuple[Any, ...]]
    cells: dict[str, int]
    environment: dict[str, str]


def settle(surroundings: Surroundings, rank: int, output: Connection) -> None:
    """Set up this child process: what it prints goes to `output`, it dies with its parent, it knows the notebook."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the notebook decides what an interrupt means
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])  # for what the program starts itself
    _allow_children()
    dump_on_signal(surroundings.folder, rank)
    threading.Thread(target=_die_with_parent, args=(surroundings.folder,), daemon=True).start()
    _redirect_output(output)
    linecache.cache.update(surroundings.lines)
    adopt_cells(surroundings.cells)
    os.environ.update(surroundings.environment)
    os.environ[_MARK] = str(_path(surroundings.folder, rank))


def _allow_children() -> None:
    """Let a program start processes of its own, such as the workers of a DataLoader, in the platform's usual way.

    They belong to the rank's process group, which ends as a whole.
    """
    if hasattr(os, "setpgid"):
        os.setpgid(0, 0)
    mp.current_process()._config["daemon"] = False  # type: ignore[attr-defined]
    mp.set_start_method(None, force=True)


def _redirect_output(output: Connection) -> None:
    os.dup2(output.fileno(), 1)
    os.dup2(output.fileno(), 2)
    sys.stdout = os.fdopen(1, "w", buffering=1, closefd=False)
    sys.stderr = os.fdopen(2, "w", buffering=1, closefd=False)


def _die_with_parent(folder: str) -> None:
    parent = mp.parent_process()
    assert parent is not None
    wait([parent.sentinel])
    remove(Path(folder))
    if hasattr(os, "killpg"):
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


def orphans_of(folder: str, ranks: Iterable[int]) -> list[int]:
    """Orphans: ids of processes that these ranks have started and that still run, where Linux tells.

    A program has their mark in its environment; what was forked holds their files open. Only what has dropped both is
    not found.
    """
    paths = {str(_path(folder, rank)) for rank in ranks}
    marks = {f"{_MARK}={path}".encode() for path in paths}
    with contextlib.suppress(OSError):
        found = [entry for entry in os.listdir("/proc") if entry.isdigit()]
        return [int(entry) for entry in found if marks & _environment(entry) or paths & _open_files(entry)]
    return []


def _environment(pid: str) -> set[bytes]:
    with contextlib.suppress(OSError):  # it has ended, or is somebody else's
        return set(Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"))
    return set()


def _open_files(pid: str) -> set[str]:
    found = set()
    with contextlib.suppress(OSError):
        for each in os.scandir(f"/proc/{pid}/fd"):
            with contextlib.suppress(OSError):
                found.add(os.readlink(each.path))
    return found


_PATIENCE_S, _LOOK_S = 2.0, 0.05
_STOPPED = "is stopped (as by SIGSTOP)"
_RUNNING = "is still running"
_STARTED_FUNCTIONS = str(Path(__file__).parents[1] / "transport" / "started_functions.py")  # on the stack of one


class Activity(NamedTuple):
    """What a process does now, in words: its program, and the functions that it started (nothing if none runs)."""

    program: str = _RUNNING
    started: str = ""


def dump_on_signal(folder: str, rank: int) -> None:
    """Dump the stacks of this process's threads into the folder whenever it gets SIGUSR1."""
    if hasattr(signal, "SIGUSR1"):
        faulthandler.register(signal.SIGUSR1, file=_path(folder, rank).open("w"), all_threads=True)


def activities_of(pids: Mapping[int, int], folder: str) -> dict[int, Activity]:
    """What processes do now that are in no communication call, by rank, from their own stacks."""
    if not hasattr(signal, "SIGUSR1"):
        return dict.fromkeys(pids, Activity())
    for pid in pids.values():
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGUSR1)
    _wait_until_written([_path(folder, rank) for rank, pid in pids.items() if not _is_stopped(pid)])
    return {rank: _activity(pid, _path(folder, rank)) for rank, pid in pids.items()}


def _wait_until_written(paths: list[Path]) -> None:
    """Poll until every stack dump is complete (no file grows any more), with a time-out."""
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


def _activity(pid: int, path: Path) -> Activity:
    if _is_stopped(pid):
        return Activity(_STOPPED)
    try:
        stacks = path.read_text(errors="replace").split("\n\n")
    except OSError:
        return Activity()
    program, started = _RUNNING, ""
    for stack in reversed(stacks):  # that of the main thread comes last
        location = program_line(stack)
        if location and _STARTED_FUNCTIONS in stack:
            started = f"runs {location}"
        elif location and program == _RUNNING:
            program = f"runs {location}"
    return Activity(program, started)


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
