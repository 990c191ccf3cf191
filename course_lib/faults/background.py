"""Asynchronous checkpointing: a copy is taken while the training stands still, and written while it goes on."""

from __future__ import annotations

import copy
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import torch
from torch import nn


def snapshot(state: Any) -> Any:
    """A copy of a state in memory of its own, tensors on the CPU: what is trained afterwards does not reach it.

    Where two tensors are the same numbers in the same memory, so are their copies.
    """
    return _copied(state, {})


def _copied(part: Any, tied: dict[Any, torch.Tensor]) -> Any:
    if isinstance(part, torch.Tensor):
        place = _place(part)
        if place not in tied:
            tied[place] = part.detach().to("cpu", copy=True)
        return tied[place]
    if isinstance(part, dict):
        return {name: _copied(value, tied) for name, value in part.items()}
    if isinstance(part, list | tuple):
        copies = [_copied(value, tied) for value in part]
        return type(part)._make(copies) if hasattr(part, "_make") else type(part)(copies)
    return copy.deepcopy(part)


def _place(tensor: torch.Tensor) -> Any:
    """Where its numbers lie; what is no plain tensor, or has no memory, is tied to itself only."""
    plain = type(tensor) in (torch.Tensor, nn.Parameter) and tensor.layout == torch.strided
    if not plain or not tensor.numel():
        return id(tensor)
    return tensor.device, tensor.data_ptr(), tensor.dtype, tensor.shape, tensor.stride()


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
        self._thread: ThreadPoolExecutor | None = None  # while there is something to save
        self._under_way: Future[None] | None = None

    def __enter__(self) -> BackgroundSaver:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.wait()
        finally:
            if self._thread is not None:
                self._thread.shutdown()
            self._thread = None

    def save(self, step: int, state: Any) -> None:
        """Return when the state is copied. The save before must be on disk first, so that at most one copy is held.

        Raises:
            Exception: whatever the save before raised; a checkpoint that failed must not be believed in.
        """
        self.wait()
        kept = snapshot(state) if self._copies else state
        self._thread = self._thread or ThreadPoolExecutor(max_workers=1)
        self._under_way = self._thread.submit(self._save, step, kept)

    def wait(self) -> None:
        """Return when nothing is being written.

        Raises:
            Exception: whatever the save raised.
        """
        under_way, self._under_way = self._under_way, None
        if under_way is not None:
            under_way.result()
