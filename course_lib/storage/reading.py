"""How fast samples come: timed, with several workers, from a disk that has forgotten them, from a slow one."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple, TypeVar

from course_lib.checks import at_least
from course_lib.storage.samples import Sample

__all__ = ["Reading", "behind_latency", "files_per_s", "forget", "read_with_workers", "time_samples"]

T = TypeVar("T")


class Reading(NamedTuple):
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


def time_samples(samples: Iterable[Sample]) -> Reading:
    """Take all samples and look at the clock."""
    count = image_bytes = 0
    start_s = time.perf_counter()
    for sample in samples:
        count += 1
        image_bytes += len(sample.image)
    return Reading(count, image_bytes, time.perf_counter() - start_s)


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
