"""Counts what forward passes keep for backward passes: every byte that autograd holds, once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import Any

import torch

__all__ = ["HeldActivations"]


class HeldActivations:
    """How many bytes are held for backward passes, now and at most; parameters are not counted.

    Memory is counted and not tensors, so views and tensors saved twice count once.

    >>> held = HeldActivations()
    >>> x = torch.zeros(3, requires_grad=True)
    >>> with held.watch():
    ...     y = x.exp()
    >>> held.now_bytes
    12
    >>> y.sum().backward()
    >>> held.now_bytes, held.peak_bytes
    (0, 12)
    """

    def __init__(self, parameters: Iterable[torch.Tensor] = ()) -> None:
        self.now_bytes = self.peak_bytes = 0
        self._owned = {parameter.untyped_storage().data_ptr() for parameter in parameters}
        self._holders: Counter[int] = Counter()

    def watch(self) -> AbstractContextManager[Any]:
        """Inside, what autograd saves is counted until it lets go of it."""
        return torch.autograd.graph.saved_tensors_hooks(self.hold, lambda held: held.tensor)

    def hold(self, tensor: torch.Tensor) -> _Held:
        """Count a tensor for as long as what this returns is alive."""
        return _Held(tensor, self)

    def add(self, tensor: torch.Tensor, holders: int) -> None:
        """Count one holder of a tensor's memory more, or one less."""
        storage = tensor.untyped_storage()
        if storage.data_ptr() in self._owned:
            return
        before = self._holders[storage.data_ptr()]
        self._holders[storage.data_ptr()] = before + holders
        if 0 in (before, before + holders):
            self.now_bytes += holders * storage.nbytes()
            self.peak_bytes = max(self.peak_bytes, self.now_bytes)


class _Held:
    """A tensor that is counted while this lives."""

    __slots__ = ("_count", "tensor")

    def __init__(self, tensor: torch.Tensor, count: HeldActivations) -> None:
        self.tensor, self._count = tensor, count
        count.add(tensor, 1)

    def __del__(self) -> None:
        self._count.add(self.tensor, -1)
