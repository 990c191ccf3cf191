"""The course's data, without a download: handwritten digits, and Python's own source as text."""

from __future__ import annotations

import sysconfig
from pathlib import Path
from typing import NamedTuple

import torch

__all__ = ["Digits", "load_digits", "load_source_text"]


class Digits(NamedTuple):
    """Images as float32 rows of 64 pixels between 0 and 1, labels as int64 from 0 to 9."""

    train_inputs: torch.Tensor
    train_labels: torch.Tensor
    test_inputs: torch.Tensor
    test_labels: torch.Tensor


def load_digits(train_length: int = 1437, seed: int = 0) -> Digits:
    """1,797 handwritten digits of 8 × 8 pixels, shuffled with `seed` and split into a training and a test part.

    Raises:
        ValueError: unless both parts hold at least one image.

    Source: E. Alpaydin and C. Kaynak, "Optical recognition of handwritten digits", UCI, 1998; shipped in scikit-learn.

    >>> [tuple(part.shape) for part in load_digits()]
    [(1437, 64), (1437,), (360, 64), (360,)]
    """
    from sklearn import datasets  # half a second, and only who trains pays it

    found = datasets.load_digits()
    length = len(found.target)
    if not 0 < train_length < length:
        raise ValueError(f"train_length must be from 1 to {length - 1}, got {train_length}")
    order = torch.randperm(length, generator=torch.Generator().manual_seed(seed))
    inputs = torch.tensor(found.data, dtype=torch.float32)[order] / 16
    labels = torch.tensor(found.target, dtype=torch.int64)[order]
    return Digits(inputs[:train_length], labels[:train_length], inputs[train_length:], labels[train_length:])


def load_source_text(characters: int = 100_000) -> str:
    """The first `characters` of Python's standard library, module by module in order of their names.

    Raises:
        ValueError: if the modules beside this one hold fewer.

    >>> len(load_source_text(1000))
    1000
    """
    text, length = [], 0
    for path in sorted(Path(sysconfig.get_path("stdlib")).glob("*.py")):
        if length >= characters:
            break
        text.append(path.read_text(encoding="utf-8"))
        length += len(text[-1])
    if length < characters:
        raise ValueError(f"the standard library's modules hold {length} characters, {characters} were asked for")
    return "".join(text)[:characters]
