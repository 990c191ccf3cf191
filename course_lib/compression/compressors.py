"""Compressors of gradients: top-k and one bit, and an all-reduce of compressed rows with error feedback.

        gradient ──▶ + ──▶ compress ──▶ message to all ranks ──▶ sum of what all messages stand for
                     ▲         │
                     └─ residual: what the message does not say ◀┘

Nothing is lost: what was sent and the residual together are the sum of all gradients so far. So each row must meet its
own residual again, wherever it lies the next time (`rows`). An overflow is no gradient, and nothing is kept of it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from typing import Protocol

import numpy as np
import torch

from course_lib.collectives import all_gather
from course_lib.comm import Communicator
from course_lib.compression.rows import KeepsRows


class Compressor(Protocol):
    """A compressor: turns a row into a message, of a size that the row's length alone decides, and back into a row."""

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


def pack_bits(bits: torch.Tensor) -> torch.Tensor:
    """Eight truth values a byte, the first one highest; the last byte is filled with zeros.

    >>> pack_bits(torch.tensor([True, False, False, False, False, False, False, True, True]))
    tensor([129, 128], dtype=torch.uint8)
    """
    return torch.from_numpy(np.packbits(bits.cpu().numpy())).to(bits.device)


def unpack_bits(packed: torch.Tensor, length: int) -> torch.Tensor:
    """The first `length` truth values again."""
    return torch.from_numpy(np.unpackbits(packed.cpu().numpy(), count=length)).bool().to(packed.device)


class OneBit:
    """One bit a number: whether it is negative; and one value for all that are, one for all others: their means.

    Useless without error feedback: then small numbers would never be told from large ones.

    Source: F. Seide et al., "1-bit stochastic gradient descent and its application to data-parallel distributed
    training of speech DNNs", Interspeech 2014.

    >>> sign = OneBit()
    >>> sign.decompress(sign.compress(torch.tensor([1.0, -4.0, 3.0])), 3)
    tensor([ 2., -4.,  2.])
    """

    def compress(self, row: torch.Tensor) -> torch.Tensor:
        """Two means, then the bits."""
        negative = row < 0
        below = int(negative.sum())
        sums = row.where(~negative, 0).sum(), row.where(negative, 0).sum()
        means = [total / max(1, count) for total, count in zip(sums, (len(row) - below, below), strict=True)]
        return pack(torch.stack(means), pack_bits(negative))

    def decompress(self, message: torch.Tensor, length: int) -> torch.Tensor:
        """The mean of its sign for each number."""
        means, bits = unpack(message, (torch.float32, 2), (torch.uint8, -(-length // 8)))
        return torch.where(unpack_bits(bits, length), means[1], means[0])


class CompressedAllReduce(KeepsRows):
    """Sums rows over all ranks by their compressed messages; an `all_reduce` for `DataParallel`.

    Messages cannot be added, so each travels to every rank: (p - 1) times its bytes from each of p ranks, where the
    ring sends 2(p - 1)/p times the row's. The gain shrinks as ranks are added.

    Attributes:
        residuals: what was left out of each row so far, by the row's number; empty without error feedback.

    Source: F. Seide et al., "1-bit stochastic gradient descent", Interspeech 2014; S. Karimireddy et al., "Error
    feedback fixes SignSGD and other gradient compression schemes", ICML 2019.
    """

    def __init__(self, compressor: Compressor, *, error_feedback: bool = True) -> None:
        super().__init__(remembers=error_feedback)
        self.compressor, self.error_feedback = compressor, error_feedback

    def __call__(self, comm: Communicator, row: torch.Tensor) -> None:
        """Leave in `row` the sum of what all ranks sent, the same bits on every rank."""
        number, flat = self.number(row), row.detach().view(-1)
        wanted = flat + self.kept(self.residuals, number, flat)
        message = self.compressor.compress(wanted)
        flat.copy_(sum_of_messages(comm, self.compressor, message, len(flat)))
        if self.error_feedback:
            left_out = wanted - self.compressor.decompress(message, len(flat))
            self.keep_if_finite(flat, number, residuals=left_out)


def sum_of_messages(comm: Communicator, compressor: Compressor, message: torch.Tensor, length: int) -> torch.Tensor:
    """The sum of the rows that all ranks' messages stand for, the same bits on every rank."""
    messages = [torch.empty_like(message) for _ in range(comm.world_size)]
    all_gather(comm, messages, message)
    total, *rows = (compressor.decompress(each, length) for each in messages)
    for row in rows:
        total += row
    return total
