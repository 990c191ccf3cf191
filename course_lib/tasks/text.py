"""The text: Python's own standard library, which every machine has that runs this course."""

from __future__ import annotations

import sysconfig
from collections.abc import Iterator
from pathlib import Path

import torch

from course_lib.tasks.batches import random_batches


def load_source_text(characters: int = 100_000) -> str:
    """The first `characters` of Python's standard library, module by module in order of their names.

    Another version of Python has another text.

    Raises:
        ValueError: if its modules hold fewer.

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


def encode(text: str) -> tuple[torch.Tensor, str]:
    """The characters as numbers, int64, and the alphabet that these count in.

    >>> encode("abca")
    (tensor([0, 1, 2, 0]), 'abc')
    """
    alphabet = "".join(sorted(set(text)))
    place = {character: code for code, character in enumerate(alphabet)}
    return torch.tensor([place[character] for character in text]), alphabet


def source_tokens(characters: int = 100_000) -> torch.Tensor:  # [bytes], int64, from 0 to 255
    """The source text as a row of bytes, one token each, so that every text has the same 256 tokens.

    >>> source_tokens(3).tolist() == list(load_source_text(3).encode())
    True
    """
    return torch.tensor(list(load_source_text(characters).encode()))


def text_batches(
    tokens: torch.Tensor, batch_size: int, length: int, *, rank: int = 0, seed: int = 0
) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Yield (inputs, targets) of random places in the text without end, both [batch_size, length].

    A target is the token that follows its input. Each rank draws its own; see `random_batches`.

    Raises:
        ValueError: if the text has no `length` + 1 tokens.

    >>> inputs, targets = next(text_batches(torch.arange(100), batch_size=2, length=3))
    >>> inputs.tolist(), targets.tolist()
    ([[57, 58, 59], [82, 83, 84]], [[58, 59, 60], [83, 84, 85]])
    """
    if len(tokens) <= length:
        raise ValueError(f"a text must have more than length = {length} tokens, got {len(tokens)}")
    window = torch.arange(length)
    for starts in random_batches(len(tokens) - length, batch_size, rank=rank, seed=seed):
        places = starts[:, None] + window
        yield tokens[places], tokens[places + 1]
