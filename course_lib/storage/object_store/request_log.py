"""Log of requests, and what it gives: rates, latencies, percentiles."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

from course_lib.storage.reading import flow_of


class Request(NamedTuple):
    """One request, as a client or the server has seen it; stamps are of this machine's monotonic clock.

    `status` is HTTP's number or, at a client, a word for what went wrong.
    """

    began_ns: int
    ended_ns: int
    status: int | str
    sent_bytes: int
    name: str


class LoadSummary(NamedTuple):
    """What a run of many requests comes to. `in_flight` is the mean number of requests at a time."""

    requests: int
    per_s: float
    bytes_per_s: float
    mean_s: float
    p50_s: float
    p95_s: float
    p99_s: float
    failed: int
    in_flight: float


def read_log(path: Path) -> list[Request]:
    """The requests that a server has answered, in the order of their ends."""
    lines = path.read_text().splitlines() if path.exists() else []
    rows = [line.split(" ") for line in lines]
    return [Request(int(a), int(b), int(status), int(size), unquote(name)) for a, b, status, size, name in rows]


def reads(tries: Sequence[Request]) -> list[Request]:
    """The tries of one client with those of an object made one: from the first try's start to the last one's end."""
    groups = [list(group) for _, group in groupby(tries, key=lambda each: each.name)]
    return [group[-1]._replace(began_ns=group[0].began_ns) for group in groups]


def percentile(values: Iterable[float], share: float) -> float:
    """The smallest of the values that is at least as large as `share` of them (nearest rank).

    >>> [percentile([4, 1, 3, 2], share) for share in (0.5, 0.95, 1)]
    [2, 4, 4]
    """
    ordered = sorted(values)
    if not ordered or not 0 < share <= 1:
        raise ValueError(f"a percentile needs values and a share from above 0 to 1, got {len(ordered)} and {share}")
    return ordered[math.ceil(share * len(ordered)) - 1]


def summarize(requests: Sequence[Request]) -> LoadSummary:
    """Rates and latencies of a run, from its first request's start to its last one's end; all its requests count.

    Raises:
        ValueError: if there is no request.
    """
    latencies_s = [(r.ended_ns - r.began_ns) / 1e9 for r in requests]
    flow = flow_of([(r.began_ns, r.ended_ns) for r in requests])
    return LoadSummary(
        requests=len(requests),
        per_s=flow.per_s * 1e9,
        bytes_per_s=flow.per_s * 1e9 * sum(r.sent_bytes for r in requests) / len(requests),
        mean_s=flow.latency_s / 1e9,
        p50_s=percentile(latencies_s, 0.5),
        p95_s=percentile(latencies_s, 0.95),
        p99_s=percentile(latencies_s, 0.99),
        failed=sum(r.status != 200 for r in requests),
        in_flight=flow.in_flight,
    )
