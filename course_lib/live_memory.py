"""Live memory: counts the bytes of all tensors that torch's operations make (activations, gradients, temporaries)."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class LiveMemory(TorchDispatchMode):
    """How many bytes of tensors made inside are alive, now and at most, and the largest; it asks no allocator.

    >>> with LiveMemory() as memory:
    ...     x = torch.ones(1000)
    ...     y = x + 1
    ...     del x
    >>> memory.now_bytes, memory.peak_bytes, memory.largest_bytes
    (4000, 8000, 4000)
    """

    def __init__(self) -> None:
        super().__init__()
        self.now_bytes = self.peak_bytes = self.largest_bytes = 0
        self._known: weakref.WeakSet[torch.UntypedStorage] = weakref.WeakSet()

    def __torch_dispatch__(
        self,
        function: Callable[..., Any],
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[Any, Any] | None = None,
    ) -> Any:
        """Do an operation, and count what it made."""
        given = {leaf.untyped_storage() for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)}
        result = function(*args, **(kwargs or {}))
        for leaf in tree_leaves(result):
            if isinstance(leaf, torch.Tensor) and leaf.untyped_storage() not in given:
                self._count(leaf.untyped_storage())
        return result

    def _count(self, storage: torch.UntypedStorage) -> None:
        if storage in self._known:
            return
        self._known.add(storage)
        size = storage.nbytes()
        self.now_bytes += size
        self.peak_bytes = max(self.peak_bytes, self.now_bytes)
        self.largest_bytes = max(self.largest_bytes, size)
        weakref.finalize(storage, self._let_go, size)

    def _let_go(self, size: int) -> None:
        self.now_bytes -= size
