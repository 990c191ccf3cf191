"""Fewer bits for each number: its sign alone, eight bits, or a random level that is right on average."""

from __future__ import annotations

import numpy as np
import torch

from course_lib.compression.compressor import pack, unpack

__all__ = ["QSGD", "Int8", "OneBit", "pack_bits", "unpack_bits"]


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


class Int8:
    """Eight bits a number: the nearest of 255 equally spaced levels between the largest magnitude and its negative.

    >>> levels = Int8()
    >>> levels.decompress(levels.compress(torch.tensor([127.0, -50.4, 0.3])), 3)
    tensor([127., -50.,   0.])
    """

    def compress(self, row: torch.Tensor) -> torch.Tensor:
        """The distance of two levels, then the levels."""
        step = row.abs().amax() / 127 if len(row) else row.new_zeros(())
        levels = torch.where(step > 0, row / step, 0).round()
        return pack(step, levels.to(torch.int8))

    def decompress(self, message: torch.Tensor, length: int) -> torch.Tensor:
        """Levels times their distance."""
        step, levels = unpack(message, (torch.float32, 1), (torch.int8, length))
        return levels * step


class QSGD:
    """Random levels between 0 and the row's norm: rounded up as often as makes it right on average.

    Unbiased, so it needs no error feedback; its variance is at most min(n / s², √n / s) times the squared norm. Levels
    travel as int8 here; the paper's code for them is shorter still.

    Args:
        levels: s, from 1 to 127.

    Source: D. Alistarh et al., "QSGD: communication-efficient SGD via gradient quantization and encoding", NeurIPS
    2017, section 3.1.
    """

    def __init__(self, levels: int = 127, seed: int = 0) -> None:
        if not 1 <= levels <= 127:
            raise ValueError(f"levels must be from 1 to 127, got {levels}")
        self.levels, self.generator = levels, torch.Generator().manual_seed(seed)

    def compress(self, row: torch.Tensor) -> torch.Tensor:
        """The norm, then each number's level with its sign."""
        norm = row.norm()
        exact = torch.where(norm > 0, row.abs() / norm, 0) * self.levels
        up = torch.rand(len(row), generator=self.generator).to(row.device) < exact - exact.floor()
        return pack(norm, (row.sign() * (exact.floor() + up)).to(torch.int8))

    def decompress(self, message: torch.Tensor, length: int) -> torch.Tensor:
        """Levels times the norm over their number."""
        norm, levels = unpack(message, (torch.float32, 1), (torch.int8, length))
        return levels * (norm / self.levels)
