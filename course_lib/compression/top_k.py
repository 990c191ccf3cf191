"""Top-k: only the largest numbers travel, each with its place."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

import numpy as np
import torch

from course_lib.compression.compressor import pack, unpack

__all__ = ["TopK"]


class TopK:
    """Keeps the share of numbers with the largest magnitudes, at least one; 8 bytes for each.

    Raises:
        ValueError: unless 0 < share <= 1.

    Source: A. Aji and K. Heafield, "Sparse communication for distributed gradient descent", EMNLP 2017.

    >>> few = TopK(share=0.4)
    >>> few.decompress(few.compress(torch.tensor([1.0, -5.0, 2.0, 0.0, 3.0])), 5)
    tensor([ 0., -5.,  0.,  0.,  3.])
    """

    def __init__(self, share: float) -> None:
        if not 0 < share <= 1:
            raise ValueError(f"share must be more than 0 and at most 1, got {share}")
        self.share = share

    def kept(self, length: int) -> int:
        """How many of `length` numbers travel: ⌈share · length⌉, the share taken as the fraction that was meant.

        >>> TopK(0.07).kept(100), TopK(1 - 0.999).kept(1000), TopK(0.001).kept(10), TopK(0.5).kept(0)
        (7, 1, 1, 0)
        """
        return min(length, max(1, math.ceil(_meant(self.share) * length)))

    def compress(self, row: torch.Tensor) -> torch.Tensor:
        """Places as int32, then values."""
        if not len(row):
            return pack(row)
        kept = self.kept(len(row))
        order = np.argpartition(row.abs().cpu().numpy(), len(row) - kept)  # not sorted: five times as fast as topk
        places = torch.from_numpy(order[len(row) - kept :]).to(row.device)
        return pack(places.to(torch.int32), row[places])

    def decompress(self, message: torch.Tensor, length: int) -> torch.Tensor:
        """Zeros but for the numbers that travelled."""
        kept = self.kept(length)
        places, values = unpack(message, (torch.int32, kept), (torch.float32, kept))
        return values.new_zeros(length).scatter_(0, places.long(), values)


@cache
def _meant(share: float) -> Fraction:
    return Fraction(share).limit_denominator(10**9)  # 0.07 · 100 is 7.000000000000001
