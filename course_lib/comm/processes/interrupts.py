"""Interrupts that wait until nothing is left half done."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

__all__ = ["DeferredInterrupts", "blocked_interrupts"]


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
