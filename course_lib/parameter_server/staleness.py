"""Staleness of gradients: how it is counted, what is expected, and how much an old gradient counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

from course_lib.checks import at_least


@dataclass(frozen=True)
class Staleness:
    """Histogram of staleness: the server's version when a gradient came less the version it was computed on.

    Zhang et al. count so too: a gradient of timestamp j that meets the server at timestamp i has staleness i - j. As
    every update takes c gradients, the mean over updates is the mean over gradients.

    Source: W. Zhang et al., "Staleness-aware async-SGD", arXiv 1511.05950, 2015, section 2.1.
    """

    counts: dict[int, int]

    @classmethod
    def of(cls, values: Iterable[int]) -> Staleness:
        """Count values.

        >>> Staleness.of([1, 0, 1, 2])
        Staleness(counts={0: 1, 1: 2, 2: 1})
        """
        return cls(dict(sorted(Counter(values).items())))

    @property
    def gradients(self) -> int:
        """How many were counted."""
        return sum(self.counts.values())

    @property
    def mean(self) -> float:
        """Mean over all gradients."""
        return sum(value * count for value, count in self.counts.items()) / max(self.gradients, 1)

    @property
    def staleness(self) -> list[int]:
        """Every value as often as it was counted."""
        return list(Counter(self.counts).elements())

    def share_over(self, staleness: int) -> float:
        """The share of gradients that were staler than that."""
        return sum(count for value, count in self.counts.items() if value > staleness) / max(self.gradients, 1)


def expected_staleness(workers: int, gradients_per_update: int = 1) -> float:
    """The mean staleness where nobody waits: (workers - 1) / gradients_per_update, whatever the workers' speeds.

    Between a worker's pull and its next push it misses the pushes of the others. A push of worker a falls between a
    pull and a push of each of the other λ - 1 workers, exactly one pair of each; so all gradients together miss λ - 1
    pushes each on average, be the workers fast or slow. Each c pushes are an update.

    >>> round(expected_staleness(30, 30), 3), expected_staleness(30, 2)
    (0.967, 14.5)
    """
    at_least(1, workers=workers, gradients_per_update=gradients_per_update)
    return (workers - 1) / gradients_per_update


@dataclass(frozen=True)
class StalenessWeight:
    """`weight(staleness)` multiplies a gradient: 1 leaves it as it is, 0 throws it away."""

    name: str
    weight: Callable[[int], float]


def _always(staleness: int) -> float:
    return 1.0


def _inverse(staleness: int) -> float:
    return 1 / max(staleness, 1)


def _power(base: float, staleness: int) -> float:
    return base**staleness


def _at_most(oldest: int, staleness: int) -> float:
    return float(staleness <= oldest)


FULL_WEIGHT = StalenessWeight("none", _always)


def inverse_staleness() -> StalenessWeight:
    """The rate α₀/τ: a gradient counts 1/staleness; a fresh one, or one update old, counts fully.

    Source: W. Zhang et al., "Staleness-aware async-SGD", arXiv 1511.05950, 2015.

    >>> [inverse_staleness().weight(staleness) for staleness in (0, 1, 2, 4)]
    [1.0, 1.0, 0.5, 0.25]
    """
    return StalenessWeight("rate / staleness", _inverse)


def decay(base: float) -> StalenessWeight:
    """A gradient counts base ** staleness.

    Raises:
        ValueError: unless `base` is more than 0 and at most 1.

    Source: W. Chan and I. Lane, "Distributed asynchronous optimization of convolutional neural networks", Interspeech
    2014 (an exponential penalty).

    >>> [decay(0.5).weight(staleness) for staleness in (0, 1, 2)]
    [1.0, 0.5, 0.25]
    """
    if not 0 < base <= 1:
        raise ValueError(f"base must be more than 0 and at most 1, got {base}")
    return StalenessWeight(f"decay {base:g}", partial(_power, base))


def drop_older_than(oldest: int) -> StalenessWeight:
    """A gradient of a staleness up to `oldest` counts fully, an older one is thrown away.

    Raises:
        ValueError: if `oldest` is less than 0: no gradient would ever count, and training never end.

    >>> [drop_older_than(2).weight(staleness) for staleness in (0, 2, 3)]
    [1.0, 1.0, 0.0]
    """
    if oldest < 0:
        raise ValueError(f"oldest must be 0 or more, got {oldest}")
    return StalenessWeight(f"drop over {oldest}", partial(_at_most, oldest))
