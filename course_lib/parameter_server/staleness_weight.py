"""What can be done about old gradients: how much each one counts, by its staleness."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

__all__ = ["FULL_WEIGHT", "StalenessWeight", "decay", "drop_older_than", "inverse_staleness"]


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
