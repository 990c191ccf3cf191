"""What a program finds under grading and in the notebook's check alike: one thread, no files, nothing that compiles.

What is started runs at once, and to its end (`one_thread`). Files and processes are refused by walls; here they are
refused in words, which the check says, too.
"""

from __future__ import annotations

import builtins
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
import types
from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch.profiler

from . import one_thread
from .one_thread import IN_ONE_THREAD
from .stubs import NO_FILES, Nothing

__all__ = ["NO_FILES", "NO_INPUT", "as_under_grading", "for_good"]

NO_INPUT = "under grading nobody is there to answer input()"

OURS = (__file__, one_thread.__file__)
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
