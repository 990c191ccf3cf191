"""What autograd saved of a unit's weights asks for the unit when the backward pass needs it.

A unit's outputs have hooks that gather it. But a backward pass may enter by another door: an output inside an object
that nobody can look into, or a loss that a layer keeps to itself. Every door leads to a saved weight in the end.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

import torch

from course_lib.data_parallel.zero.unit import Unit

__all__ = ["weights_ask_for"]


class _Saved(NamedTuple):
    tensor: torch.Tensor
    version: int
    is_weight: bool


def weights_ask_for(unit: Unit, gather: Callable[[Unit], None]) -> AbstractContextManager[Any]:
    """Inside, what autograd saves of the unit's row calls `gather(unit)` before it is used.

    All else goes to the hooks around (of `checkpoint`, say), or is kept as it is, and must not be changed in place,
    which torch leaves to hooks to see.
    """
    outer = torch._C._autograd._top_saved_tensors_default_hooks(False)

    def pack(tensor: torch.Tensor) -> Any:
        is_weight = _memory(tensor) == _memory(unit.row) != 0
        if outer is not None and not is_weight:
            return outer[0](tensor)
        return _Saved(tensor, tensor._version, is_weight)

    def unpack(saved: Any) -> torch.Tensor:
        if not isinstance(saved, _Saved):
            return outer[1](saved)
        if saved.is_weight:
            gather(unit)
        if saved.tensor._version != saved.version:
            shape, versions = tuple(saved.tensor.shape), f"at version {saved.tensor._version}, saved at {saved.version}"
            raise RuntimeError(
                f"a tensor of shape {shape} that the backward pass of {unit.name} needs was modified by an inplace "
                f"operation: it is {versions}"
            )
        return saved.tensor

    return torch.autograd.graph.saved_tensors_hooks(pack, unpack)


def _memory(tensor: torch.Tensor) -> int:
    """Where it lies; 0 for what has no memory."""
    return tensor.untyped_storage().data_ptr() if tensor.layout == torch.strided and not tensor.is_meta else 0
