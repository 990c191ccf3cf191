"""Tensors as they are now: their copies and their bytes."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

__all__ = ["as_list", "raw_bytes", "snapshot"]

LONGEST = 10_000  # of a range that is written out


def snapshot(value: Any) -> Any:
    """This value as it is now: tensors and arrays are copied, also in lists and tuples; the rest stays what it is.

    A copy is a plain tensor: what a subclass says of itself is not asked.
    """
    if isinstance(value, torch.Tensor):
        with torch._C.DisableTorchFunctionSubclass():
            return value.detach().to_dense().clone()
    if isinstance(value, np.ndarray):
        return value.copy()
    return [snapshot(item) for item in value] if isinstance(value, (list, tuple)) else value


def as_list(value: Any) -> Any:
    """A range, bytes, and an array of texts or objects, as the list that it stands for; the rest stays what it is.

    >>> as_list(range(2, 8, 2)), as_list(b"hi"), as_list(np.array(["F0", "B0"])), as_list(3)
    ([2, 4, 6], [104, 105], ['F0', 'B0'], 3)
    """
    if isinstance(value, (range, bytes, bytearray)) and len(value) <= LONGEST:
        return list(value)
    if isinstance(value, np.ndarray) and value.dtype.kind in "OSU":
        return value.tolist()
    return value


def raw_bytes(tensor: torch.Tensor) -> bytes:
    """A tensor's elements as they lie in memory, one after the other, whatever its dtype and strides."""
    flat = tensor.detach().cpu().reshape(-1).clone(memory_format=torch.contiguous_format)  # stride 1, even of one
    return flat.view(torch.uint8).numpy().tobytes() if flat.numel() else b""
