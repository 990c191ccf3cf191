"""Prefetching: a thread loads the next batches while this one is computed, up to the length of its queue."""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

import numpy as np

from course_lib.checks import at_least

T = TypeVar("T")


_PATIENCE_S = 1.0


class Prefetcher(Generic[T]):
    """The batches of `source` in their order, each once, up to `depth` of them loaded ahead by a thread.

    Invariant: at most depth + 1 batches are loaded and not yet taken; what `source` raises, the taker sees.
    Leaving the `with` block early ends the thread; a source that blocks then is not waited for longer than a second.

    Raises:
        ValueError: if depth is less than 1.
        RuntimeError: if it is iterated outside of its `with` block, or once all batches have been taken.
    """

    def __init__(self, source: Iterable[T], depth: int) -> None:
        if depth < 1:
            raise ValueError(f"depth must be at least 1, got {depth}")
        self._loaded: queue.Queue[tuple[str, Any]] = queue.Queue(depth)
        self._entered, self._closed = False, threading.Event()
        self._thread = threading.Thread(target=self._load, args=(source,), daemon=True)

    def __enter__(self) -> Prefetcher[T]:
        if self._entered:
            raise RuntimeError("a Prefetcher has one with block: make another for another epoch")
        self._entered = True
        self._thread.start()
        return self

    def __exit__(self, *failure: object) -> None:
        self._closed.set()
        with contextlib.suppress(queue.Empty):
            while True:
                self._loaded.get_nowait()  # a full queue would hold the thread for ever
        self._thread.join(_PATIENCE_S)

    def __iter__(self) -> Iterator[T]:
        """Go on with the batches that were not taken yet."""
        while self._entered and not self._closed.is_set():
            kind, found = self._loaded.get()
            if kind == "batch":
                yield found
                continue
            self._loaded.put(("taken", None))  # for whoever iterates, too, or again
            if kind == "taken":
                raise RuntimeError("all batches of this Prefetcher have been taken: make another for another epoch")
            if found is not None:
                raise found
            return
        raise RuntimeError("a Prefetcher loads inside its with block: with Prefetcher(source, depth) as batches")

    def _load(self, source: Iterable[T]) -> None:
        end: tuple[str, Any] = ("end", None)
        try:
            for batch in source:
                self._loaded.put(("batch", batch))
                if self._closed.is_set():
                    return
        except BaseException as error:
            end = ("end", error)
        self._loaded.put(end)


def overlapped_seconds(load_s: Sequence[Any], compute_s: Sequence[float], depth: int) -> float:
    """How long batches take with up to `depth` loaded ahead: a loader and a device that wait for each other.

    Batch i is loaded once batch i - 1 is and once a place is free: batch i - depth - 1 has been taken. It is computed
    once it is loaded and batch i - 1 is done. Equal batches: the first load, max(load, compute) for all but
    one, the last compute.

    Args:
        load_s: of each batch; or of each batch a row with a number a rank, whose loaders and queues are their own, and
            whose all-reduce waits for the last.

    >>> overlapped_seconds([2, 2, 2], [3, 3, 3], depth=1), overlapped_seconds([4, 4, 4], [3, 3, 3], depth=1)
    (11.0, 15.0)
    >>> overlapped_seconds([[4, 1], [1, 4]], [3, 3], depth=1)  # rank 1 begins its second load at 1
    10.0
    """
    at_least(1, depth=depth)
    taken: list[Any] = []
    loaded = done = 0.0
    for batch, (load, compute) in enumerate(zip(load_s, compute_s, strict=True)):
        free = taken[batch - depth - 1] if batch > depth else 0.0
        loaded = np.maximum(loaded, free) + load  # a number, or one a rank
        taken.append(np.maximum(done, loaded))
        done = np.max(taken[-1]) + compute  # the all-reduce waits for the last
    return float(done)
