"""How long each worker takes for each gradient."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

__all__ = ["Speeds"]


@dataclass(frozen=True)
class Speeds:
    """Times of gradients, drawn from a seed: equal seeds give equal times, whatever happens between them.

    Args:
        gradient_s: what a gradient takes on average.
        spread: a time differs from that by up to this share, evenly to both sides.
        slower: worker -> how many times slower it always is, 1 or more.
        stall_share: the share of gradients that a stall makes `stall_s` longer.

    Raises:
        ValueError: if a number is out of its range.
    """

    gradient_s: float = 0.1
    spread: float = 0.1
    slower: Mapping[int, float] = field(default_factory=dict)
    stall_share: float = 0.0
    stall_s: float = 0.0

    def __post_init__(self) -> None:
        if not (self.gradient_s > 0 and 0 <= self.spread < 1 and 0 <= self.stall_share <= 1 and self.stall_s >= 0):
            raise ValueError(f"gradient_s must be positive, spread and stall_share shares of 1, got {self}")
        if min(self.slower.values(), default=1) < 1:
            raise ValueError(f"slower must be 1 or more for each worker in it, got {dict(self.slower)}")

    def of_worker(self, worker: int, seed: int = 0) -> Iterator[float]:
        """The seconds that each of a worker's gradients takes, without end.

        >>> times = Speeds(gradient_s=1.0, spread=0.0, slower={2: 3.0})
        >>> [next(times.of_worker(worker)) for worker in (0, 1, 2)]
        [1.0, 1.0, 3.0]
        """
        random_numbers = random.Random(f"{seed} {worker}")
        base_s = self.gradient_s * self.slower.get(worker, 1.0)
        while True:
            seconds = base_s * (1 + self.spread * random_numbers.uniform(-1, 1))
            stalls = random_numbers.random() < self.stall_share
            yield seconds + self.stall_s * stalls
