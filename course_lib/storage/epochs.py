"""Who reads what in an epoch: every sample on exactly one rank, however many shards and ranks there are."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from course_lib.checks import at_least

__all__ = ["EpochCount", "Part", "count_epoch", "rank_steps", "split_samples", "split_shards", "step_batches"]


class Part(NamedTuple):
    """Samples `first` to `stop` - 1 of one shard."""

    shard: int
    first: int
    stop: int


def split_shards(lengths: Sequence[int], world_size: int, epoch: int = 0, seed: int = 0) -> list[list[Part]]:
    """Whole shards in the epoch's random order, dealt to the ranks in turn: rank -> its parts.

    Every sample is on one rank, but ranks can differ by a shard and more: see `rank_steps`.

    Raises:
        ValueError: if world_size is less than 1, or a length negative.
    """
    _check(lengths, world_size)
    order = _shard_order(len(lengths), epoch, seed)
    return [[Part(shard, 0, lengths[shard]) for shard in order[rank::world_size]] for rank in range(world_size)]


def split_samples(lengths: Sequence[int], world_size: int, epoch: int = 0, seed: int = 0) -> list[list[Part]]:
    """The epoch's shards laid end to end and cut into equal stretches: rank -> its parts.

    Every sample is on one rank, ranks differ by one sample at most, and each cut costs at most one more open.
    One sample may still be a step of its own: see `step_batches`.

    Raises:
        ValueError: if world_size is less than 1, or a length negative.

    >>> first, second = split_samples([4, 2], 2)
    >>> first, second
    ([Part(shard=0, first=0, stop=3)], [Part(shard=0, first=3, stop=4), Part(shard=1, first=0, stop=2)])
    """
    _check(lengths, world_size)
    total = sum(lengths)
    cuts = [total * rank // world_size for rank in range(world_size + 1)]
    ranks: list[list[Part]] = [[] for _ in range(world_size)]
    start = 0
    for shard in _shard_order(len(lengths), epoch, seed):
        stop = start + lengths[shard]
        for rank in range(world_size):
            first, last = max(start, cuts[rank]), min(stop, cuts[rank + 1])
            if first < last:
                ranks[rank].append(Part(shard, first - start, last - start))
        start = stop
    return ranks


def _check(lengths: Sequence[int], world_size: int) -> None:
    at_least(1, world_size=world_size)
    at_least(0, **{f"length {shard}": length for shard, length in enumerate(lengths)})


def rank_steps(ranks: Sequence[Sequence[Part]], batch: int) -> list[int]:
    """How many batches each rank has, the last one smaller. Where they differ, an all-reduce waits for ever."""
    at_least(1, batch=batch)
    return [-(-_samples(parts) // batch) for parts in ranks]


def step_batches(ranks: Sequence[Sequence[Part]], batch: int) -> list[list[int]]:
    """How many samples each rank takes in each step: as many steps on all ranks, none of more than `batch` samples.

    All take the steps of the longest, and spread their samples evenly over them. So batches differ, and an average
    has to weigh them (chapter 01).

    >>> step_batches(split_samples([9], 2), batch=4)
    [[2, 2], [3, 2]]
    """
    steps = max(rank_steps(ranks, batch), default=0)
    return [[(_samples(parts) + steps - 1 - step) // steps for step in range(steps)] for parts in ranks]


def _samples(parts: Sequence[Part]) -> int:
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
