"""Random order from files that are read in order: shards in random order, and a buffer that mixes what comes."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from course_lib.checks import at_least

__all__ = [
    "buffer_displacement",
    "buffered_shuffle",
    "epoch_order",
    "mean_displacement",
    "same_shard_share",
]

T = TypeVar("T")


def buffered_shuffle(samples: Iterable[T], buffer: int, draw: random.Random) -> Iterator[T]:
    """Yield all samples, each drawn at random from the `buffer` that wait; the next one takes its place.

    Invariant: every sample exactly once, and none more than `buffer` - 1 places earlier than it lay.

    Raises:
        ValueError: if buffer is less than 1.
    """
    if buffer < 1:
        raise ValueError(f"buffer must be at least 1, got {buffer}")
    waiting: list[T] = []
    for sample in samples:
        if len(waiting) < buffer:
            waiting.append(sample)
        else:
            place = draw.randrange(buffer)
            yield waiting[place]
            waiting[place] = sample
    draw.shuffle(waiting)
    yield from waiting


def epoch_order(samples: int, shard_samples: int, *, shuffle_shards: bool, buffer: int, seed: int = 0) -> list[int]:
    """The order in which samples 0, 1, … that lie in shards come in one epoch.

    >>> epoch_order(6, 2, shuffle_shards=False, buffer=1)
    [0, 1, 2, 3, 4, 5]
    >>> epoch_order(6, 2, shuffle_shards=True, buffer=1, seed=1)
    [2, 3, 4, 5, 0, 1]
    """
    at_least(0, samples=samples)
    at_least(1, shard_samples=shard_samples)
    draw = random.Random(seed)
    shards = [range(first, min(first + shard_samples, samples)) for first in range(0, samples, shard_samples)]
    if shuffle_shards:
        draw.shuffle(shards)
    return list(buffered_shuffle((sample for shard in shards for sample in shard), buffer, draw))


def mean_displacement(order: Sequence[int]) -> float:
    """How far samples moved on average: the mean of |place now - place before|.

    Law: a perfect shuffle of n moves (n² - 1) / 3n, about a third.

    >>> mean_displacement([0, 1, 2]), mean_displacement([2, 1, 0])
    (0.0, 1.3333333333333333)
    """
    at_least(1, samples=len(order))
    return math.fsum(abs(now - before) for now, before in enumerate(order)) / len(order)


def buffer_displacement(buffer: int) -> float:
    """Mean displacement by a buffer in a long stream: 2 b (1 - 1/b)^b, about 2 b / e.

    A sample waits for a number of draws that is geometric with mean b, and b - 1 samples ahead of it came in before the
    first went out. So it moves by |G - b|, and that is a geometric number's mean absolute deviation.

    >>> buffer_displacement(1), buffer_displacement(2), round(buffer_displacement(1000) / 1000, 3)
    (0.0, 1.0, 0.735)
    """
    at_least(1, buffer=buffer)
    return 2 * buffer * (1 - 1 / buffer) ** buffer


def same_shard_share(order: Sequence[int], shard_samples: int, batch: int) -> float:
    """Of all pairs that meet in a batch, the share that came from one shard.

    1 where batches are cut from shards as they are; (s - 1) / (n - 1) after a perfect shuffle of n = whole shards of s.
    """
    at_least(1, shard_samples=shard_samples)
    at_least(2, samples=len(order), batch=batch)
    pairs = same = 0
    for first in range(0, len(order), batch):
        shards = [sample // shard_samples for sample in order[first : first + batch]]
        pairs += math.comb(len(shards), 2)
        same += sum(math.comb(shards.count(shard), 2) for shard in set(shards))
    return same / pairs
