"""A thundering herd in virtual time: many clients that all wait for one server to come back."""

from __future__ import annotations

import heapq
import random
from collections import deque
from typing import NamedTuple

from course_lib.storage.object_store.client import Backoff


class HerdTry(NamedTuple):
    """One client's try at some time, and what became of it: 200, 503, or "no connection"."""

    at_s: float
    status: int | str


def simulate_outage(
    clients: int,
    backoff: Backoff,
    *,
    down_s: float,
    operations_per_s: float,
    queue: int,
    spread_s: float = 0.0,
    seed: int = 0,
) -> list[HerdTry]:
    """All tries of clients that want one object each; the server is down until `down_s`, then as `Store`.

    All begin at time 0, or each at some time drawn up to `spread_s`. A client whose tries are used up has given up.

    Raises:
        ValueError: if clients wait for nothing, for then they try infinitely often before the server is back.
    """
    if not backoff.base_s:
        raise ValueError(f"in virtual time clients must wait between two tries, got {backoff}")
    draw = random.Random(seed)
    ends_s = deque[float]()
    tries = list[HerdTry]()
    starts_s = [draw.uniform(0, spread_s) for _ in range(clients)] if spread_s else [0.0] * clients
    coming = sorted((start_s, client, 1) for client, start_s in enumerate(starts_s))
    while coming:
        at_s, client, number = heapq.heappop(coming)
        while ends_s and ends_s[0] <= at_s:
            ends_s.popleft()
        if at_s >= down_s and len(ends_s) < queue:
            ends_s.append(max(at_s, ends_s[-1] if ends_s else 0.0) + 1 / operations_per_s)
            tries.append(HerdTry(at_s, 200))
            continue
        tries.append(HerdTry(at_s, 503 if at_s >= down_s else "no connection"))
        if number < backoff.tries:
            heapq.heappush(coming, (at_s + backoff.wait_s(number, draw), client, number + 1))
    return tries
