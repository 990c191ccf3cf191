"""What a compressor is: a row of numbers to a message of bytes, and back to a row that is close to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import torch

__all__ = ["Compressor", "pack", "unpack"]


class Compressor(Protocol):
    """Makes a message of a row, as many bytes for every row of one length, and a row of a message."""

    def compress(self, row: torch.Tensor) -> torch.Tensor:
        """The message, uint8, for a float32 row."""

    def decompress(self, message: torch.Tensor, length: int) -> torch.Tensor:
        """The float32 row of `length` numbers that the message stands for."""


def pack(*parts: torch.Tensor) -> torch.Tensor:
    """One message of the bytes of all parts, one part behind the other.

    >>> pack(torch.tensor([1.0]), torch.tensor([2, 3], dtype=torch.int16)).numel()
    8
    """
    filled = [part.contiguous().view(-1).view(torch.uint8) for part in parts if part.numel()]
    where = parts[0].device if parts else None
    return torch.cat([torch.empty(0, dtype=torch.uint8, device=where), *filled])


def unpack(message: torch.Tensor, *kinds: tuple[torch.dtype, int]) -> Sequence[torch.Tensor]:
    """The parts of a message again, each by its dtype and number of elements.

    >>> one, two = unpack(pack(torch.tensor([1.0]), torch.tensor([2, 3])), (torch.float32, 1), (torch.int64, 2))
    >>> one, two
    (tensor([1.]), tensor([2, 3]))
    """
    sizes = [dtype.itemsize * length for dtype, length in kinds]
    parts = message.split(sizes)
    # A copy starts at an address that suits every dtype.
    return [part.clone().view(dtype) for part, (dtype, _) in zip(parts, kinds, strict=True)]
