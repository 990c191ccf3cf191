"""Tensors as they are now: their copies and their bytes."""

from __future__ import annotations

from array import array
from collections import UserString
from collections.abc import ItemsView, Iterator, KeysView, Sequence, ValuesView
from itertools import islice
from typing import Any

import numpy as np
import torch

LONGEST = 10_000  # of what is written out as a list
ROWS = (Sequence, array, KeysView, ValuesView, ItemsView)
NO_NUMBERS = "a tensor on the meta device has a shape and no numbers: make it on the CPU"


def snapshot(value: Any) -> Any:
    """This value as it is now: tensors and arrays are copied, also in what `as_plain` knows; the rest stays what it is.

    A copy is a plain tensor: what a subclass says of itself is not asked.

    Raises:
        TypeError: if a tensor has no numbers.
    """
    value = as_plain(value)
    if isinstance(value, torch.Tensor):
        _refuse_meta(value)
        with torch._C.DisableTorchFunctionSubclass():
            return value.detach().to_dense().clone()
    if isinstance(value, np.ndarray):
        return value.copy()
    return [snapshot(item) for item in value] if isinstance(value, (list, tuple)) else value


def as_plain(value: Any) -> Any:
    """What has an order as the list that it stands for; numpy's numbers and arrays as torch knows them.

    What gives its values one after the other (`map`, `zip`, a generator, a list with an `__iter__` of its own) is read
    to its end. The rest stays what it is. So does a set, which has no order.

    >>> as_plain(range(2, 8, 2)), as_plain(b"hi"), as_plain({1: "F0"}.values()), as_plain(np.array(["F0", "B0"]))
    ([2, 4, 6], [104, 105], ['F0'], ['F0', 'B0'])
    >>> as_plain(np.uint64(3)), as_plain(np.longdouble(0.5)), as_plain(np.array([1], ">i4")).dtype, as_plain("text")
    (3, 0.5, dtype('int32'), 'text')
    >>> as_plain(map(abs, [-2, 7])), as_plain(reversed("ab"))
    ([2, 7], ['b', 'a'])

    Raises:
        ValueError: if one after the other there are more than a list may be long.
    """
    if isinstance(value, Iterator):
        return _read(value)
    if isinstance(value, UserString):
        return str(value)
    if isinstance(value, np.longdouble):
        return float(value)
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return _as_torch_knows(value)
    if isinstance(value, (list, tuple)):
        return value if type(value).__iter__ in (list.__iter__, tuple.__iter__) else _read(iter(value))
    if isinstance(value, ROWS) and not isinstance(value, str) and len(value) <= LONGEST:
        return _read(iter(value))
    return value


def _read(values: Iterator[Any]) -> list[Any]:
    read = list(islice(values, LONGEST + 1))
    if len(read) > LONGEST:
        raise ValueError(f"it gave a {type(values).__name__} of more than {LONGEST} values: has it an end?")
    return read


def _as_torch_knows(value: np.ndarray) -> Any:
    if value.dtype.kind in "OSU":
        return value.tolist()
    return value.astype(np.float64 if value.dtype == np.longdouble else value.dtype.newbyteorder("="), copy=False)


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
