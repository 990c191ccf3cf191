"""Little's law: how many requests are on their way = how many come a second × how long each takes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

__all__ = ["Flow", "flow_of", "needed_in_flight"]


class Flow(NamedTuple):
    """Requests over a stretch of time: how many were in flight on average, how many ended a second, how long each took.

    Law: in_flight = per_s × latency_s, exactly, whatever the requests do, as long as all of them lie in the stretch.

    Source: J. Little, "A proof for the queuing formula L = λW", Operations Research 9(3), 1961.
    """

    in_flight: float
    per_s: float
    latency_s: float


def flow_of(requests: Sequence[tuple[float, float]]) -> Flow:
    """The flow of requests given as (start_s, end_s). `in_flight` is counted at starts and ends, not by the law.

    Raises:
        ValueError: if there is no request, or all take no time.

    >>> flow_of([(0, 2), (1, 3), (3, 4)])
    Flow(in_flight=1.25, per_s=0.75, latency_s=1.6666666666666667)
    """
    if not requests or max(end for _, end in requests) <= min(start for start, _ in requests):
        raise ValueError(f"there must be requests that take time, got {list(requests)}")
    changes = sorted([(start, 1) for start, _ in requests] + [(end, -1) for _, end in requests])
    area = flying = 0.0
    for (now_s, change), (next_s, _) in pairwise(changes):
        flying += change
        area += flying * (next_s - now_s)
    window_s = changes[-1][0] - changes[0][0]
    latency_s = sum(end - start for start, end in requests) / len(requests)
    return Flow(area / window_s, len(requests) / window_s, latency_s)


def needed_in_flight(per_s: float, latency_s: float) -> float:
    """How many requests must be on their way to have `per_s` of them end each second.

    >>> needed_in_flight(per_s=10_000, latency_s=0.0023)  # opens on a Lustre that takes 2.3 ms for each
    23.0
    """
    return per_s * latency_s
