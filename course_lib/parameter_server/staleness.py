"""How stale gradients are: what is counted, and what is expected."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from course_lib.checks import at_least

__all__ = ["Staleness", "expected_staleness"]


@dataclass(frozen=True)
class Staleness:
    """How many gradients had which staleness: the version they met less the version they were computed on.

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
