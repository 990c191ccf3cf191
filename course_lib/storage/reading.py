"""Throughput of reading samples: with several workers, with a cold cache; Little's law for requests in flight."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple, TypeVar

from course_lib.checks import at_least
from course_lib.storage.samples import Sample


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


T = TypeVar("T")


class ReadTiming(NamedTuple):
    """What was read, and in which time."""

    samples: int
    image_bytes: int
    seconds: float

    @property
    def samples_per_s(self) -> float:
        """Samples a second."""
        return self.samples / self.seconds

    @property
    def bytes_per_s(self) -> float:
        """Bytes of images a second; names and headers do not count."""
        return self.image_bytes / self.seconds


def time_samples(samples: Iterable[Sample]) -> ReadTiming:
    """Take all samples and look at the clock."""
    count = image_bytes = 0
    start_s = time.perf_counter()
    for sample in samples:
        count += 1
        image_bytes += len(sample.image)
    return ReadTiming(count, image_bytes, time.perf_counter() - start_s)


def read_with_workers(read: Callable[[Path], T], paths: Sequence[Path], workers: int) -> Iterator[T]:
    """Yield read(path) for every path in order, with up to `workers` threads reading at once."""
    with ThreadPoolExecutor(workers) as pool:
        yield from pool.map(read, paths)


def files_per_s(read: Callable[[Path], Sample], paths: Sequence[Path], threads: int = 0, times: int = 3) -> float:
    """Files read a second, by a plain loop or by so many threads: the fastest of some times, when nobody disturbs.

    Raises:
        ValueError: if threads is negative, or times less than 1.
    """
    at_least(0, threads=threads)
    at_least(1, times=times)
    rates = []
    for _ in range(times):
        samples = read_with_workers(read, paths, threads) if threads else map(read, paths)
        rates.append(time_samples(samples).samples_per_s)
    return max(rates)


def behind_latency(read: Callable[[Path], T], open_s: float) -> Callable[[Path], T]:
    """The same `read` from an emulated storage far away: each open first waits `open_s`."""

    def slow(path: Path) -> T:
        time.sleep(open_s)
        return read(path)

    return slow


def forget(paths: Iterable[Path]) -> bool:
    """Ask the system to drop these files from its memory; whether it can be asked (Linux).

    What it knows of folders and names it keeps: the next read pays for the bytes, not for the search.
    """
    if not hasattr(os, "posix_fadvise"):
        return False
    for path in paths:
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)  # what is not yet on the disk cannot be dropped
            os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(handle)
    return True
