"""Sampling: the order of an epoch's samples, shuffling of what is read in order, and which rank reads which samples."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from course_lib.checks import at_least

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


class ShardPart(NamedTuple):
    """Samples `first` to `stop` - 1 of one shard."""

    shard: int
    first: int
    stop: int


def split_shards(lengths: Sequence[int], world_size: int, epoch: int = 0, seed: int = 0) -> list[list[ShardPart]]:
    """Whole shards in the epoch's random order, dealt to the ranks in turn: rank -> its parts.

    Every sample is on one rank, but ranks can differ by a shard and more: see `rank_steps`.

    Raises:
        ValueError: if world_size is less than 1, or a length negative.
    """
    _check(lengths, world_size)
    order = _shard_order(len(lengths), epoch, seed)
    return [[ShardPart(shard, 0, lengths[shard]) for shard in order[rank::world_size]] for rank in range(world_size)]


def split_samples(lengths: Sequence[int], world_size: int, epoch: int = 0, seed: int = 0) -> list[list[ShardPart]]:
    """The epoch's shards laid end to end and cut into equal stretches: rank -> its parts.

    Every sample is on one rank, ranks differ by one sample at most, and each cut costs at most one more open.
    One sample may still be a step of its own: see `step_batches`.

    Raises:
        ValueError: if world_size is less than 1, or a length negative.

    >>> first, second = split_samples([4, 2], 2)
    >>> first, second
    ([ShardPart(shard=0, first=0, stop=3)], [ShardPart(shard=0, first=3, stop=4), ShardPart(shard=1, first=0, stop=2)])
    """
    _check(lengths, world_size)
    total = sum(lengths)
    cuts = [total * rank // world_size for rank in range(world_size + 1)]
    ranks: list[list[ShardPart]] = [[] for _ in range(world_size)]
    start = 0
    for shard in _shard_order(len(lengths), epoch, seed):
        stop = start + lengths[shard]
        for rank in range(world_size):
            first, last = max(start, cuts[rank]), min(stop, cuts[rank + 1])
            if first < last:
                ranks[rank].append(ShardPart(shard, first - start, last - start))
        start = stop
    return ranks


def _check(lengths: Sequence[int], world_size: int) -> None:
    at_least(1, world_size=world_size)
    at_least(0, **{f"length {shard}": length for shard, length in enumerate(lengths)})


def rank_steps(ranks: Sequence[Sequence[ShardPart]], batch: int) -> list[int]:
    """How many batches each rank has, the last one smaller. Where they differ, an all-reduce waits for ever."""
    at_least(1, batch=batch)
    return [-(-_samples(parts) // batch) for parts in ranks]


def step_batches(ranks: Sequence[Sequence[ShardPart]], batch: int) -> list[list[int]]:
    """How many samples each rank takes in each step: as many steps on all ranks, none of more than `batch` samples.

    All take the steps of the longest, and spread their samples evenly over them. So batches differ, and an average
    has to weigh them (chapter 01).

    >>> step_batches(split_samples([9], 2), batch=4)
    [[2, 2], [3, 2]]
    """
    steps = max(rank_steps(ranks, batch), default=0)
    return [[(_samples(parts) + steps - 1 - step) // steps for step in range(steps)] for parts in ranks]


def _samples(parts: Sequence[ShardPart]) -> int:
    return sum(part.stop - part.first for part in parts)


class EpochCount(NamedTuple):
    """What came and what did not: keys missing, keys that came more than once, keys that nobody knows."""

    missing: list[str]
    doubled: list[str]
    unknown: list[str]

    @property
    def exactly_once(self) -> bool:
        """Whether every sample came, and came once."""
        return not (self.missing or self.doubled or self.unknown)


def count_epoch(expected: Iterable[str], seen: Iterable[str]) -> EpochCount:
    """Compare the keys that all ranks saw together with those that there are.

    >>> count_epoch("abc", ["a", "c", "c"])
    EpochCount(missing=['b'], doubled=['c'], unknown=[])
    """
    known, counts = set(expected), Counter(seen)
    doubled = sorted(key for key, count in counts.items() if count > 1)
    return EpochCount(sorted(known - counts.keys()), doubled, sorted(counts.keys() - known))


def _shard_order(shards: int, epoch: int, seed: int) -> list[int]:
    """Every rank draws the same order, without a message: seed and epoch decide."""
    order = list(range(shards))
    random.Random(f"{seed}/{epoch}").shuffle(order)
    return order
