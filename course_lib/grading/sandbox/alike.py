"""What a program finds under grading and in the notebook's check alike: one thread, no files, nothing that compiles.

A rank cannot have threads of its own: their numbers are the system's, so that ranks could count each other's. What a
program needs of threads, pools and event loops is that the work is done. So what is started runs at once, and to its
end. Files and processes are refused by walls; here they are refused in words, which the check says, too.
"""

from __future__ import annotations

import asyncio
import builtins
import concurrent.futures
import contextlib
import io
import multiprocessing.pool
import multiprocessing.process
import os
import socket
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
import types
from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch.profiler

from .stubs import NO_FILES, Nothing

ONE_THREAD = "under grading a rank has one thread, and what is started runs at once to its end"
WAITS = f"{ONE_THREAD}: this waits for something that would come later"

_of_thread = threading.local()  # its event loop, of which the notebook's own knows nothing


def _start(_: Callable[..., Any], thread: Any) -> None:
    if hasattr(thread, "_ran"):
        raise RuntimeError("threads can only be started once")
    thread._ran = False
    try:
        thread.run()
    finally:
        thread._ran = True


def _join(_: Callable[..., Any], thread: Any, timeout: float | None = None) -> None:
    if not hasattr(thread, "_ran"):
        raise RuntimeError("cannot join thread before it is started")


def _is_alive(_: Callable[..., Any], thread: Any) -> bool:
    return not getattr(thread, "_ran", True)


def _wait(_: Callable[..., Any], condition: Any, timeout: float | None = None) -> bool:
    if timeout is None:
        raise RuntimeError(WAITS)
    time.sleep(max(0.0, timeout))
    return False  # nobody is there who could notify


def _submit(
    _: Callable[..., Any], pool: Any, function: Callable[..., Any], /, *args: Any, **kwargs: Any
) -> concurrent.futures.Future[Any]:
    future: concurrent.futures.Future[Any] = concurrent.futures.Future()
    try:
        if pool._initializer is not None:
            initializer, pool._initializer = pool._initializer, None
            initializer(*pool._initargs)
        future.set_result(function(*args, **kwargs))
    except BaseException as error:
        future.set_exception(error)
    return future


def _no_pool(_: Callable[..., Any], pool: Any, *args: Any, **kwargs: Any) -> None:
    pool._state = "none"  # or its end asks for it
    raise RuntimeError(
        f"{ONE_THREAD}: take concurrent.futures.ThreadPoolExecutor in place of a pool of multiprocessing"
    )


def _new_loop(_: Callable[..., Any]) -> asyncio.AbstractEventLoop:
    return EventLoop()


class EventLoop(asyncio.BaseEventLoop):
    """An event loop that knows no files or sockets: its tasks, and the clock."""

    def __init__(self) -> None:
        super().__init__()
        self._selector = self

    def select(self, timeout: float | None) -> list[Any]:
        """What there is to read: nothing, after this time."""
        if timeout is None:
            raise RuntimeError(WAITS)
        time.sleep(max(0.0, timeout))
        return []

    def _process_events(self, events: list[Any]) -> None:
        pass

    def _write_to_self(self) -> None:
        pass


def _loop_of_thread(_: Callable[..., Any]) -> asyncio.AbstractEventLoop:
    """The loop that runs, or else this thread's own, which is made if there is none that is open."""
    loop: asyncio.AbstractEventLoop | None = asyncio._get_running_loop() or getattr(_of_thread, "loop", None)
    if loop is None or loop.is_closed():
        loop = _of_thread.loop = EventLoop()
    return loop


def _keep_loop(_: Callable[..., Any], loop: asyncio.AbstractEventLoop | None) -> None:
    _of_thread.loop = loop


IN_ONE_THREAD: list[tuple[Any, str, Callable[..., Any]]] = [
    (threading.Thread, "start", _start),
    (threading.Thread, "join", _join),
    (threading.Thread, "is_alive", _is_alive),
    (threading.Condition, "wait", _wait),
    (concurrent.futures.ThreadPoolExecutor, "submit", _submit),
    (multiprocessing.pool.Pool, "__init__", _no_pool),
]
for _owner in (asyncio, asyncio.events):
    IN_ONE_THREAD += [
        (_owner, "new_event_loop", _new_loop),
        (_owner, "get_event_loop", _loop_of_thread),
        (_owner, "set_event_loop", _keep_loop),
    ]


NO_INPUT = "under grading nobody is there to answer input()"

OURS = (__file__,)
STANDARD_LIBRARY = sysconfig.get_path("stdlib")

_for_good = contextlib.ExitStack()
_lock = threading.Lock()
_open: list[tuple[int, Callable[[str], bool], bool]] = []  # thread, `is_program` and `walls` of each that is open
_before: list[tuple[Any, str, Callable[..., Any]]] = []  # what was there before the first one


def for_good() -> None:
    """Make it so for the rest of this process, a rank's.

    New memory holds nan, or the largest whole number: who reads what nobody wrote is wrong each time, and not by luck.
    """
    torch._C._set_deterministic_algorithms(True, warn_only=True)
    _for_good.enter_context(as_under_grading(lambda file: file.startswith(("<code cell ", "<string>")), walls=True))


@contextlib.contextmanager
def as_under_grading(is_program: Callable[[str], bool], walls: bool = False) -> Iterator[None]:
    """Make it so while this is open, for calls that a program makes itself or through Python's own library.

    It holds in the thread that opens it, and in those of simulated ranks; others go on as ever.

    Several may be open at once, in several threads and ended in any order: the first one replaces what is replaced, and
    the last one puts it back.

    Args:
        is_program: whether a file, or a cell, belongs to the program.
        walls: whether walls refuse files by themselves, so that words come after their refusal and not in its place.
    """
    mine = threading.get_ident(), is_program, walls
    with _lock:
        if not _open:
            _replace()
        _open.append(mine)
    try:
        yield
    finally:
        with _lock:
            _open.remove(mine)
            if not _open:
                _put_back()


def _replace() -> None:
    those = [(owner, name, new) for owner, name, new in _replaced() if hasattr(owner, name)]
    _before[:] = [(owner, name, getattr(owner, name)) for owner, name, _ in those]
    for (owner, name, new), (_, _, old) in zip(those, _before, strict=True):
        setattr(owner, name, _either(old, new))


def _put_back() -> None:
    for owner, name, old in _before:
        setattr(owner, name, old)


def _replaced() -> list[tuple[Any, str, Callable[..., Any]]]:
    """What is replaced, and by what; that is called with the replaced one first."""
    files: list[tuple[Any, str]] = [
        (os, name) for name in ("open", "mkdir", "listdir", "scandir", "getcwd", "fork", "pipe")
    ]
    files += [(builtins, "open"), (io, "open"), (tempfile, "_get_default_tempdir"), (subprocess.Popen, "__init__")]
    files += [(socket.socket, "__init__"), (multiprocessing.process.BaseProcess, "start")]
    return [
        *IN_ONE_THREAD,
        (torch, "compile", _as_it_is),
        (torch.jit, "trace", _as_it_is),
        (torch.jit, "script", _as_it_is),
        (torch.func, "linearize", _linearized),
        (torch.profiler, "profile", lambda *_, **__: Nothing()),
        (torch, "save", _not_to_a_path),
        (torch, "load", _not_from_a_path),
        (builtins, "input", _no_input),
        *((owner, name, _no_files) for owner, name in files),
    ]


def _either(old: Callable[..., Any], new: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        file, me = _caller(), threading.get_ident()
        is_rank = threading.current_thread().name.startswith("rank ")
        those = [each for each in list(_open) if each[0] == me or is_rank]
        walls = [walls for _, is_program, walls in those if is_program(file)]
        if not walls and not hasattr(args[0] if args else None, "_ran"):
            return old(*args, **kwargs)
        return (_told if any(walls) and new in REFUSALS else new)(old, *args, **kwargs)

    return call


def _caller() -> str:
    """The innermost file that makes the call that is being made, Python's own library left out."""
    frame: types.FrameType | None = sys._getframe(2)
    while frame is not None:
        file = frame.f_code.co_filename
        if not (file in OURS or file.startswith(STANDARD_LIBRARY)) or "-packages" in file:
            return file
        frame = frame.f_back
    return ""


# Files and compilers


def _no_files(*_: Any, **__: Any) -> None:
    raise PermissionError(f"Operation not permitted: {NO_FILES}")


def _told(old: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """What it gives, if no wall refuses it, and else the refusal in words."""
    try:
        return old(*args, **kwargs)
    except (OSError, RuntimeError):
        return _no_files()


def _not_to_a_path(old: Callable[..., Any], value: Any, place: Any, *args: Any, **kwargs: Any) -> None:
    if isinstance(place, (str, os.PathLike)):
        _no_files()
    old(value, place, *args, **kwargs)


def _not_from_a_path(old: Callable[..., Any], place: Any, *args: Any, **kwargs: Any) -> Any:
    return _no_files() if isinstance(place, (str, os.PathLike)) else old(place, *args, **kwargs)


def _as_it_is(_: Callable[..., Any], function: Any = None, *args: Any, **kwargs: Any) -> Any:
    """Compiled, a function gives what it gives anyway."""
    return function if function is not None else lambda later: later


def _linearized(_: Callable[..., Any], function: Callable[..., Any], *primals: Any) -> Any:
    """A function's value there, and its derivative in any direction; nothing is compiled, so each is computed anew."""
    return function(*primals), lambda *tangents: torch.func.jvp(function, primals, tangents)[1]


def _no_input(*_: Any) -> None:
    raise RuntimeError(NO_INPUT)


REFUSALS = (_no_files, _not_to_a_path, _not_from_a_path)
