"""What threads, pools and event loops do where there is one thread: what is started runs at once, and to its end.

A rank cannot have threads of its own: their numbers are the system's, so that ranks could count each other's. What a
program needs of them is that the work is done.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import multiprocessing.pool
import threading
import time
from collections.abc import Callable
from typing import Any

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
