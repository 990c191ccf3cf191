"""Tensors as they are now: their copies and their bytes."""

from __future__ import annotations

from array import array
from collections import UserString
from collections.abc import KeysView, Sequence, ValuesView
from typing import Any

import numpy as np
import torch

__all__ = ["as_list", "raw_bytes", "snapshot"]

LONGEST = 10_000  # of what is written out as a list
ROWS = (Sequence, array, KeysView, ValuesView)
NO_ROWS = (str, UserString, list, tuple)
NO_NUMBERS = "a tensor on the meta device has a shape and no numbers: make it on the CPU"


def snapshot(value: Any) -> Any:
    """This value as it is now: tensors and arrays are copied, also in what `as_list` knows; the rest stays what it is.

    A copy is a plain tensor: what a subclass says of itself is not asked.

    Raises:
        TypeError: if a tensor has no numbers.
    """
    value = as_list(value)
    if isinstance(value, torch.Tensor):
        _refuse_meta(value)
        with torch._C.DisableTorchFunctionSubclass():
            return value.detach().to_dense().clone()
    if isinstance(value, np.ndarray):
        return value.copy()
    return [snapshot(item) for item in value] if isinstance(value, (list, tuple)) else value


def as_list(value: Any) -> Any:
    """What has an order as the list that it stands for: a range, bytes, a deque, an array, a dictionary's values.

    The rest stays what it is. So does a set, which has no order.

    >>> as_list(range(2, 8, 2)), as_list(b"hi"), as_list(np.array(["F0", "B0"])), as_list(3)
    ([2, 4, 6], [104, 105], ['F0', 'B0'], 3)
    """
    if isinstance(value, ROWS) and not isinstance(value, NO_ROWS) and len(value) <= LONGEST:
        return list(value)
    if isinstance(value, np.ndarray) and value.dtype.kind in "OSU":
        return value.tolist()
    return value


def raw_bytes(tensor: torch.Tensor) -> bytes:
    """A tensor's elements as they lie in memory, one after the other, whatever its dtype and strides.

    Raises:
        TypeError: if it has none.
    """
    _refuse_meta(tensor)
    flat = tensor.detach().cpu().reshape(-1).clone(memory_format=torch.contiguous_format)  # stride 1, even of one
    return flat.view(torch.uint8).numpy().tobytes() if flat.numel() else b""


def _refuse_meta(tensor: torch.Tensor) -> None:
    if torch.Tensor.is_meta.__get__(tensor):  # whatever a subclass says
        raise TypeError(NO_NUMBERS)
