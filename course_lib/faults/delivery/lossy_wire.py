"""A lossy wire: it loses packets, duplicates and reorders them, at any rate; and what reliable delivery then costs."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from typing import Any, NamedTuple

_LATEST = 3.0  # a delayed packet comes up to so many latencies late


class Packet(NamedTuple):
    """What crosses the wire: a message with its number, or, without a payload, the acknowledgment of that number."""

    number: int
    payload: Any = None


@dataclass(frozen=True)
class LossyWire:
    """One direction of a wire. Packets do not wait for each other, so many can be on their way at once.

    (The course's `Network` keeps a port busy for a message's whole time. There no protocol could fill a long wire.)

    Args:
        lose: the share of packets that never arrive, less than 1.
        double: of those that arrive, the share that arrive twice.
        delay: of the copies, the share that come up to three latencies late: others overtake them.
        latency_s: the time on the wire.
        send_s: how long a packet takes to leave; the next one waits for that.

    Raises:
        ValueError: if a share is not from 0 to 1, `lose` is 1, or a time is negative or without end.
    """

    lose: float = 0.0
    double: float = 0.0
    delay: float = 0.0
    latency_s: float = 1.0
    send_s: float = 0.0

    def __post_init__(self) -> None:
        if not (0 <= self.lose < 1 and 0 <= self.double <= 1 and 0 <= self.delay <= 1):
            raise ValueError(f"lose must be a share below 1, double and delay shares up to 1, got {self}")
        if not (0 <= self.latency_s < math.inf and 0 <= self.send_s < math.inf):
            raise ValueError(
                f"latency_s and send_s must be 0 or more and finite, got {self.latency_s} and {self.send_s}"
            )

    def arrivals(self, left_s: float, draw: random.Random) -> list[float]:
        """When the copies of a packet that left at `left_s` arrive: none, one or two.

        >>> LossyWire(double=1, latency_s=0.5).arrivals(2.0, random.Random(0))
        [2.5, 2.5]
        """
        copies = 0 if draw.random() < self.lose else 1 + (draw.random() < self.double)
        late = [_LATEST * draw.random() * (draw.random() < self.delay) for _ in range(copies)]
        return [left_s + self.latency_s * (1 + more) for more in late]


def transmissions_per_message(forth: LossyWire, back: LossyWire | None = None) -> float:
    """How often a message leaves on average, if time-outs are long enough: 1/((1 - p)(1 - q)) without doubling.

    A transmission is the last one if it and one of its acknowledgments arrive; if it is doubled there are two.
    Transmissions are independent, so their number has a geometric distribution.

    Source: D. Bertsekas and R. Gallager, "Data networks", 2nd edition, 1992, section 2.4.

    >>> transmissions_per_message(LossyWire(lose=0.5)), transmissions_per_message(LossyWire(lose=0.5, double=1))
    (4.0, 2.6666666666666665)
    """
    lost, no_answer = forth.lose, (back or forth).lose
    unanswered = (1 - forth.double) * no_answer + forth.double * no_answer**2
    return 1 / ((1 - lost) * (1 - unanswered))
