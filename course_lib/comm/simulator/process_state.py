"""What a simulation takes for itself in the whole process, and gives back: its turn, and garbage collection."""

from __future__ import annotations

import contextlib
import gc
import threading
from collections.abc import Iterator

from course_lib.comm.simulator.threads import simulated_rank

__all__ = ["collecting_later", "one_at_a_time"]


@contextlib.contextmanager
def one_at_a_time() -> Iterator[None]:
    """Simulations in several threads take turns. One inside another one is a part of it."""
    inside = simulated_rank() or _LOCK.owner == threading.get_ident()
    with contextlib.nullcontext() if inside else _LOCK:
        yield


class _Owned:
    """A lock that knows which thread has it."""

    def __init__(self) -> None:
        self._lock, self.owner = threading.Lock(), 0

    def __enter__(self) -> None:
        self._lock.acquire()
        self.owner = threading.get_ident()

    def __exit__(self, *_: object) -> None:
        self.owner = 0
        self._lock.release()


_LOCK = _Owned()


@contextlib.contextmanager
def collecting_later() -> Iterator[None]:
    """No garbage collection inside: millions of small objects live until the end, and collecting only costs time."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()
