"""Caches under epochs of random order, each sample once an epoch: LRU eviction, or no eviction at all."""

from __future__ import annotations

import operator
import random
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Protocol

from course_lib.checks import at_least


class Cache(Protocol):
    """A cache of a fixed number of samples."""

    def access(self, sample: int) -> bool:
        """Ask for a sample: whether it was there. If not, it is fetched, and the cache decides whether to keep it."""


class LeastRecentlyUsed:
    """Keeps what was asked for last; what has waited longest makes room. Operating systems refine it."""

    def __init__(self, places: int) -> None:
        at_least(0, places=places)
        self._places = places
        self._kept: OrderedDict[int, None] = OrderedDict()

    def access(self, sample: int) -> bool:
        """Whether the sample was there; it is now."""
        hit = sample in self._kept
        self._kept[sample] = None
        self._kept.move_to_end(sample)
        if len(self._kept) > self._places:
            self._kept.popitem(last=False)
        return hit


class KeepFirst:
    """Keeps what came first, and never lets it go: once it is full, nothing changes.

    Source: J. Mohan et al., "Analyzing and mitigating data stalls in DNN training", PVLDB 14(5), 2021 (MinIO cache).
    """

    def __init__(self, places: int) -> None:
        at_least(0, places=places)
        self._places = places
        self._kept: set[int] = set()

    def access(self, sample: int) -> bool:
        """Whether the sample was there; it is now, if there was a place."""
        hit = sample in self._kept
        if len(self._kept) < self._places:
            self._kept.add(sample)
        return hit


def count_misses(cache: Cache, epochs: Iterable[Sequence[int]]) -> list[int]:
    """Misses in each epoch; the first one fills the cache.

    >>> scan = [range(4)] * 3
    >>> count_misses(LeastRecentlyUsed(3), scan), count_misses(KeepFirst(3), scan)
    ([4, 4, 4], [4, 1, 1])
    """
    return [sum(not cache.access(sample) for sample in epoch) for epoch in epochs]


def epochs_of(samples: int, epochs: int, seed: int | None = None) -> Iterator[list[int]]:
    """Yield the order of each epoch: always the same without a seed, a fresh permutation with one."""
    draw = random.Random(seed)
    for _ in range(epochs):
        order = list(range(samples))
        if seed is not None:
            draw.shuffle(order)
        yield order


def lru_miss_rate_permuted(samples: int, places: int) -> Fraction:
    """LRU's misses of each epoch after the first, as a share, when each is a fresh permutation: exact.

    Nearly (1 - x)(1 - ln(1 - x)) with x = c/n. In the same order again and again it is everything, unless everything
    fits: what comes next has just been let go. A cache that keeps the first misses 1 - c/n in any order, and none less.

    A sample is still there if fewer than c others were asked for in between: the a that came after it in one epoch and
    the b before it in the next, a and b each from 0 to n - 1, with as many in common as chance has it.
    Cost: n² c products of whole numbers, and n fractions.

    >>> lru_miss_rate_permuted(2, 1)
    Fraction(3, 4)
    """
    at_least(1, samples=samples)
    at_least(0, places=places)
    others, most = samples - 1, min(samples, places)
    ways = [0] * most  # how often it is a hit, by `before`
    for after in range(most):
        among, beside = _choices(after), _choices(others - after)
        for before in range(most):
            # Of `before` others, `fresh` were not among the `after`: hypergeometric.
            fewest, end = max(0, before - after), min(before, places - 1 - after, others - after) + 1
            if fewest < end:
                known = among[before - end + 1 : before - fewest + 1]
                ways[before] += sum(map(operator.mul, beside[fewest:end], reversed(known)))
    hits = sum((Fraction(each, all_ways) for each, all_ways in zip(ways, _choices(others), strict=False)), Fraction(0))
    return 1 - hits / samples**2


def _choices(count: int) -> list[int]:
    """In how many ways 0, 1, 2, ... of so many can be chosen.

    >>> _choices(3)
    [1, 3, 3, 1]
    """
    row = [1]
    for chosen in range(count):
        row.append(row[-1] * (count - chosen) // (chosen + 1))
    return row
