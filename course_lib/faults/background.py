"""Saving beside the training: a copy is taken while it stands still, and written while it goes on."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import torch

__all__ = ["BackgroundSaver", "async_stall_s", "snapshot"]


def snapshot(state: Any) -> Any:
    """A copy of a state in memory of its own, on the CPU: what is trained afterwards does not reach it."""
    if isinstance(state, torch.Tensor):
        return state.detach().to("cpu", copy=True)
    if isinstance(state, dict):
        return {name: snapshot(part) for name, part in state.items()}
    if isinstance(state, list | tuple):
        return type(state)(snapshot(part) for part in state)
    return state


def async_stall_s(snapshot_s: float, write_s: float, interval_s: float) -> float:
    """How long training stands still for a save: for its copy, and for what is left of the write before it.

    >>> async_stall_s(snapshot_s=1, write_s=20, interval_s=60), async_stall_s(snapshot_s=1, write_s=20, interval_s=15)
    (1, 6)
    """
    return snapshot_s + max(0, write_s - interval_s)


class BackgroundSaver:
    """Saves one state at a time in a thread; leaving the context waits for the last one.

    Args:
        save: what writes a state, such as `Checkpoints.save`.
        copies: write a copy. Without one the training changes what is being written.
    """

    def __init__(self, save: Callable[[int, Any], None], copies: bool = True) -> None:
        self._save, self._copies = save, copies
        self._thread = ThreadPoolExecutor(max_workers=1)
        self._under_way: Future[None] | None = None

    def __enter__(self) -> BackgroundSaver:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.wait()
        finally:
            self._thread.shutdown()

    def save(self, step: int, state: Any) -> None:
        """Return when the state is copied. The save before must be on disk first, so that at most one copy is held.

        Raises:
            Exception: whatever the save before raised; a checkpoint that failed must not be believed in.
        """
        self.wait()
        kept = snapshot(state) if self._copies else state
        self._under_way = self._thread.submit(self._save, step, kept)

    def wait(self) -> None:
        """Return when nothing is being written.

        Raises:
            Exception: whatever the save raised.
        """
        under_way, self._under_way = self._under_way, None
        if under_way is not None:
            under_way.result()
