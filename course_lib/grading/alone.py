"""Runs answers in this process one at a time (a lock), with torch's, numpy's and Python's global settings put back.

What torch, numpy and Python keep for a whole process or thread, such as a default dtype and random numbers, is shared.
So whatever runs answers here does so alone, and from the same state whoever came before.
"""

from __future__ import annotations

import contextlib
import decimal
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import torch
from torch import overrides
from torch.utils import _python_dispatch as dispatch

from course_lib.comm.program import fixed_seeds

Settings = Mapping[str, Any]


def _set_deterministic(those: tuple[bool, bool]) -> None:
    torch._C._set_deterministic_algorithms(those[0], warn_only=those[1])


def _filters(those: list[Any]) -> None:
    warnings.filters[:] = those  # type: ignore[index]  # typeshed has a sequence
    warnings._filters_mutated()  # type: ignore[attr-defined]  # or what it has kept is used


_WAYS: dict[str, tuple[Callable[[], Any], Callable[[Any], object]]] = {
    "dtype": (torch.get_default_dtype, torch.set_default_dtype),
    "deterministic": (
        lambda: (torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()),
        _set_deterministic,
    ),
    "fill": (
        torch._C._get_deterministic_fill_uninitialized_memory,
        torch._C._set_deterministic_fill_uninitialized_memory,
    ),
    "threads": (torch.get_num_threads, torch.set_num_threads),
    "anomaly": (torch.is_anomaly_enabled, torch.set_anomaly_enabled),
    "precision": (torch.get_float32_matmul_precision, torch.set_float32_matmul_precision),
    "autocast": (lambda: torch.is_autocast_enabled("cpu"), lambda on: torch.set_autocast_enabled("cpu", on)),
    "numpy": (np.geterr, lambda those: np.seterr(**those)),
    "decimal": (lambda: decimal.getcontext().copy(), lambda those: decimal.setcontext(those.copy())),
    "warnings": (lambda: list(warnings.filters), _filters),
}

# As they are where nobody has set anything. Threads and warnings are the computer's, and the caller's.
JUDGES: Settings = {
    "dtype": torch.float32,
    "deterministic": (False, False),
    "fill": True,
    "anomaly": False,
    "precision": "highest",
    "autocast": False,
    "numpy": {"divide": "warn", "over": "warn", "under": "ignore", "invalid": "warn"},
    "decimal": decimal.DefaultContext,
}

# New memory holds nan, or the largest whole number: who reads what nobody wrote is wrong each time, and not by luck.
FILLED: Settings = {"deterministic": (True, True), "fill": True}


def settings() -> Settings:
    """All of them, as they are now."""
    return {name: get() for name, (get, _) in _WAYS.items()}


@contextlib.contextmanager
def with_settings(wanted: Settings) -> Iterator[None]:
    """These inside, without modes of torch that are open around it; afterwards all is as it was, whatever was set."""
    before = settings()
    with _without_modes(), torch.inference_mode(False), torch.enable_grad():
        apply_settings(wanted)
        try:
            yield
        finally:
            apply_settings(before)


def apply_settings(wanted: Settings) -> None:
    """Set these, in this thread and for all of torch."""
    now = settings()
    for name, value in wanted.items():
        if now[name] != value or name == "decimal":
            _WAYS[name][1](value)


@contextlib.contextmanager
def _without_modes() -> Iterator[None]:
    """Modes of torch functions and of its dispatcher, and a default device, are put away and in the end put back."""
    device = _default_device()
    torch.set_default_device(None)
    functions, dispatches = _put_away()
    try:
        yield
    finally:
        torch.set_default_device(None)
        _put_away()
        for mode in functions:
            overrides._push_mode(mode)
        for mode in dispatches:
            dispatch._push_mode(mode)
        torch.set_default_device(device)


def _default_device() -> torch.device | None:
    """What `torch.set_default_device` was told in this thread; not that of a `with torch.device(...)`."""
    context = getattr(torch._GLOBAL_DEVICE_CONTEXT, "device_context", None)
    return None if context is None else context.device


def _put_away() -> tuple[list[Any], list[Any]]:
    """All modes that are open, the outermost first."""
    functions = [overrides._pop_mode() for _ in range(overrides._len_torch_function_stack())]
    dispatches = [dispatch._pop_mode() for _ in range(dispatch._len_torch_dispatch_stack())]
    return functions[::-1], dispatches[::-1]


LONG_S = 60.0  # that nobody else has had a turn
WAITING = (
    "this waits for a check in another thread, which has not got on for more than a minute. If it waits for something "
    "that never comes, nothing can end it from outside: restart the kernel, and call check in a cell of its own"
)
_LOCK = threading.RLock()
_turns = 0  # that have begun
_theirs: list[Settings] = []  # those of who waits for the turn's end


@contextlib.contextmanager
def alone() -> Iterator[None]:
    """No other thread runs an answer meanwhile; random numbers and torch's settings are the same whoever came before.

    Graders of several submissions, and checks in several threads, take turns here. One inside another is a part of it.
    What is set inside, such as a default dtype, is as it was before when this ends.
    """
    _take_turn()
    with contextlib.ExitStack() as turn:
        turn.callback(_LOCK.release)
        is_outermost = not _theirs
        _theirs.append(settings())
        turn.callback(_theirs.pop)
        turn.enter_context(fixed_seeds())
        if is_outermost:
            turn.enter_context(with_settings(JUDGES))
        yield


@contextlib.contextmanager
def as_a_student() -> Iterator[None]:
    """Inside `alone` holds here what the caller of the outermost one has set, such as a default dtype.

    A tensor that nobody has filled holds nan, and not what memory held.
    """
    with with_settings({**(_theirs[0] if _theirs else {}), **FILLED}):
        yield


def _take_turn() -> None:
    """Wait for it; who waits long for one and the same says so, and what can be done."""
    global _turns
    before = -1
    while not _LOCK.acquire(timeout=LONG_S):
        if before == _turns:
            warnings.warn(WAITING, stacklevel=5)
        before = _turns
    _turns += 1
