"""Text as one row of numbers in a file of two bytes each, read by a memory map.

file       │ page 0 │ page 1 │ page 2 │ page 3 │ …        4,096 bytes each, on the disk
windows       ▒▒▒▒▒▒▒▒              ▒▒▒▒                  somebody looks at them:
memory     │ page 0 │ page 1 │        │ page 3 │          only then they are read, once for all processes
"""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import torch

from course_lib.checks import at_least

_TOKEN_BYTES, _LARGEST = 2, 2**16 - 1


def write_tokens(tokens: torch.Tensor, path: Path) -> Path:  # [tokens], whole numbers
    """Write the tokens as uint16, one after the other; return the path.

    Raises:
        ValueError: if one is not from 0 to 65,535, or they are no whole numbers: as uint16 they would silently become
            other tokens.
    """
    if tokens.is_floating_point():
        raise ValueError(f"tokens must be whole numbers, got {tokens.dtype}")
    if len(tokens) and not 0 <= tokens.min() <= tokens.max() <= _LARGEST:
        raise ValueError(f"tokens must be from 0 to {_LARGEST:,}, got {tokens.min():,} to {tokens.max():,}")
    tokens.cpu().numpy().astype(np.uint16).tofile(path)
    return path


class TokenWindows:
    """The stretches of `length` tokens that lie one after the other in a file, a dataset for a `DataLoader`.

    Opening it reads nothing. Whoever gets it pickled, as a worker that is no fork, maps the file anew.

    Attributes:
        tokens: the whole file as an array, [tokens], uint16.

    Raises:
        ValueError: if the file holds no window and the token behind it.
    """

    def __init__(self, path: Path, length: int) -> None:
        at_least(1, length=length)
        self.path, self.length = path, length
        self.tokens = np.memmap(path, np.uint16, mode="r")
        if not len(self):
            raise ValueError(f"{path} must hold more than length = {length} tokens, got {len(self.tokens)}")

    def __len__(self) -> int:
        return (len(self.tokens) - 1) // self.length

    def __getitem__(self, number: int) -> tuple[torch.Tensor, torch.Tensor]:  # [length] and [length], int64
        """A window and, as targets, the tokens that follow each of its own. Copies these, and no others."""
        if not 0 <= number < len(self):
            raise IndexError(f"a window's number must be from 0 to {len(self) - 1}, got {number}")
        first = number * self.length
        window = torch.from_numpy(self.tokens[first : first + self.length + 1].astype(np.int64))
        return window[:-1], window[1:]

    def __reduce__(self) -> tuple[type[TokenWindows], tuple[Path, int]]:
        return TokenWindows, (self.path, self.length)

    def expect_random_places(self) -> TokenWindows:
        """Tell the system that windows come in random order, so that it reads no pages ahead; return the windows."""
        if hasattr(mmap, "MADV_RANDOM") and isinstance(self.tokens.base, mmap.mmap):
            self.tokens.base.madvise(mmap.MADV_RANDOM)
        return self


def pages_of_windows(numbers: Iterable[int], length: int) -> int:
    """How many pages of the file hold these windows and the token behind each.

    >>> pages_of_windows([0, 1, 2047], length=1), pages_of_windows([0], length=2048)
    (2, 2)
    """
    spans = (range(first, first + length + 1) for first in (number * length for number in numbers))
    places = ((span[0] * _TOKEN_BYTES, span[-1] * _TOKEN_BYTES) for span in spans)
    return len({page for first, last in places for page in range(first // mmap.PAGESIZE, last // mmap.PAGESIZE + 1)})


def pages_in_memory(path: Path) -> int | None:
    """How many of the file's pages the system has in memory; None where it cannot be asked."""
    content = np.memmap(path, np.uint8, mode="r")
    found = np.zeros(-(-len(content) // mmap.PAGESIZE), np.uint8)
    address, bits = ctypes.c_void_p(content.ctypes.data), found.ctypes.data_as(ctypes.c_void_p)
    try:
        failed = ctypes.CDLL(None).mincore(address, ctypes.c_size_t(len(content)), bits)
    except (AttributeError, TypeError):  # a C library without it, or none by this name
        return None
    return None if failed else int((found & 1).sum())
