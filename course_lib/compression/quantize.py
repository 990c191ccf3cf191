"""One bit for each number: its sign alone."""

from __future__ import annotations

import numpy as np
import torch

from course_lib.compression.compressor import pack, unpack

__all__ = ["OneBit", "pack_bits", "unpack_bits"]


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
