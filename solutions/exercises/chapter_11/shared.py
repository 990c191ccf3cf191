"""What exercises of chapter 11 use: samples as lists of bytes, and their records."""

from __future__ import annotations

import numpy as np

__all__ = ["Bytes", "record", "sample_of"]

Bytes = list[int]  # numbers from 0 to 255


def sample_of(rng: np.random.Generator, size: int) -> Bytes:
    """So many bytes, none of them small, so that none looks like a length."""
    return rng.integers(40, 256, size).tolist()


def record(sample: Bytes) -> Bytes:
    """The length in two bytes, the high one first, and the sample."""
    return [len(sample) // 256, len(sample) % 256, *sample]
