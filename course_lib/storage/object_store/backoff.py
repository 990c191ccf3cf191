"""How long to wait before a request is tried again."""

from __future__ import annotations

import random
from dataclasses import dataclass

__all__ = ["Backoff"]


@dataclass(frozen=True)
class Backoff:
    """Exponential back-off with full jitter: before try n + 1, anything from 0 to base_s · 2^(n - 1), at most cap_s.

    Doubling leaves a server that is overloaded the time to recover. Jitter keeps clients that failed together from
    coming back together.

    Args:
        base_s, cap_s: the longest first wait, and the longest of all; 0 and 0 wait for nothing.
        tries: how many in all, before it is an error.
        jitter: without it, clients wait exactly the longest time.

    Source: M. Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog, 2015.
    """

    base_s: float = 0.01
    cap_s: float = 0.25
    tries: int = 60
    jitter: bool = True

    def __post_init__(self) -> None:
        if self.tries < 1 or not 0 <= self.base_s <= self.cap_s:
            raise ValueError(f"needs tries of at least 1 and 0 <= base_s <= cap_s, got {self}")

    def wait_s(self, failed: int, draw: random.Random) -> float:
        """Seconds to wait after so many failed tries.

        >>> [Backoff(base_s=1, cap_s=5, jitter=False).wait_s(failed, random.Random(0)) for failed in (1, 2, 3, 4)]
        [1, 2, 4, 5]
        """
        # A power beyond 2^60 is beyond every cap, and at some length no float any more.
        longest_s = min(self.cap_s, self.base_s * 2 ** min(failed - 1, 60))
        return draw.uniform(0, longest_s) if self.jitter else longest_s
