"""Starts and ends that nothing disturbs: interrupts wait, and Python's multiprocessing is put right for notebooks."""

from __future__ import annotations

import contextlib
import multiprocessing as mp
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from multiprocessing import spawn, util
from types import FrameType
from typing import Any

from course_lib.comm.processes.folder import RunFolder

__all__ = ["DeferredInterrupts", "apart", "blocked_interrupts", "fresh_folder", "own_folder", "without_main"]


class DeferredInterrupts:
    """A context in which Ctrl-C and a notebook's interrupt wait: for `deliver()`, or for its end.

    So whoever cleans up inside is never interrupted in the middle. Other threads than the main one get no interrupts.
    """

    def __init__(self) -> None:
        self._handler: Callable[[int, FrameType | None], Any] | None = None
        self._came = False

    def __enter__(self) -> DeferredInterrupts:
        handler = signal.getsignal(signal.SIGINT)
        if threading.current_thread() is threading.main_thread() and callable(handler):
            self._handler = handler
            signal.signal(signal.SIGINT, self._keep)
        return self

    def __exit__(self, *_: object) -> None:
        if self._handler is not None:
            signal.signal(signal.SIGINT, self._handler)
            self.deliver()

    def deliver(self) -> None:
        """Do now what an interrupt that has come would have done: raise KeyboardInterrupt, by default."""
        if self._came and self._handler is not None:
            self._came = False
            self._handler(signal.SIGINT, None)

    def _keep(self, _number: int, _frame: FrameType | None) -> None:
        self._came = True


@contextlib.contextmanager
def blocked_interrupts() -> Iterator[None]:
    """Processes that are started inside begin with interrupts blocked: a notebook's interrupt reaches them, too."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


_FOLDERS: list[RunFolder] = []  # the last one is multiprocessing's


def own_folder() -> None:
    """Give multiprocessing a folder that a later process sweeps: its own stays when a kernel is killed."""
    if "tempdir" not in _config():
        fresh_folder()


def fresh_folder() -> None:
    """Give multiprocessing another folder: the one that it had is lost."""
    if _FOLDERS or "tempdir" not in _config():
        _FOLDERS[:] = [RunFolder("crs-mp-")]  # short: the path of a socket in it has 107 letters at most
        _config()["tempdir"] = str(_FOLDERS[0].path)
    else:  # somebody else's
        os.makedirs(util.get_temp_dir(), mode=0o700, exist_ok=True)


def _config() -> dict[Any, Any]:
    return mp.current_process()._config  # type: ignore[attr-defined]


@contextlib.contextmanager
def apart() -> Iterator[None]:
    """What multiprocessing starts inside for itself gets a process group of its own.

    A Jupyter kernel that shuts down waits for all of its own group, dead ones and the tracker of resources, which hears
    no SIGTERM, among them: after two and a half seconds Jupyter would kill it.
    """
    original = util.spawnv_passfds
    if sys.platform == "linux":
        util.spawnv_passfds = _spawn_apart  # type: ignore[assignment]
    try:
        yield
    finally:
        util.spawnv_passfds = original


def _spawn_apart(path: bytes, args: list[bytes | str], passfds: list[int]) -> int:
    """What multiprocessing's own function does, and a process group."""
    kept = [(os.POSIX_SPAWN_DUP2, number, number) for number in passfds]
    return os.posix_spawn(path, args, os.environ, file_actions=kept, setpgroup=0)


@contextlib.contextmanager
def without_main() -> Iterator[None]:
    """Keep multiprocessing from importing the caller's main module again in every process that this thread starts.

    Functions of main travel by value, so scripts without a guard, standard input and notebooks all work.
    """
    original, starter = spawn.get_preparation_data, threading.get_ident()

    def without_main(name: str) -> dict[Any, Any]:
        data = original(name)
        if threading.get_ident() == starter:
            data.pop("init_main_from_name", None)
            data.pop("init_main_from_path", None)
        return data

    spawn.get_preparation_data = without_main
    try:
        yield
    finally:
        spawn.get_preparation_data = original
