"""The one way in which batches are drawn at random."""

from __future__ import annotations

from collections.abc import Iterator

import torch


def random_batches(examples: int, batch_size: int, *, rank: int = 0, seed: int = 0) -> Iterator[torch.Tensor]:
    """Yield the numbers of each batch's examples, with replacement, without end: [batch_size], int64.

    Ranks draw different batches, and each draws the same ones again for the same seed, whoever else draws.

    Raises:
        ValueError: unless there is an example to draw and a batch holds at least one.

    >>> draws = random_batches(10, 4)
    >>> next(draws).tolist(), next(draws).tolist()
    ([4, 9, 3, 0], [3, 9, 7, 3])
    """
    if examples < 1 or batch_size < 1:
        raise ValueError(f"examples and batch_size must be at least 1, got {examples} and {batch_size}")
    generator = torch.Generator().manual_seed(1_000_003 * seed + rank)
    while True:
        yield torch.randint(examples, (batch_size,), generator=generator)
