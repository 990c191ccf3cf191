"""Shared storage of a cluster: the throughput that each of its limits allows, and which limit is the bottleneck."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from course_lib.checks import at_least, positive

LIMITS = ("GPUs", "readers", "opens", "bandwidth")


@dataclass(frozen=True)
class CentralStorage:
    """A file system or object store for the whole cluster.

    Args:
        open_s: how long one open (or request) takes when nobody else asks.
        opens_per_s: how many its metadata servers answer a second, for all clients together.
        bytes_per_s: what it delivers to all clients together.

    Raises:
        ValueError: unless both rates are more than 0, and open_s is 0 or more.
    """

    name: str
    open_s: float
    opens_per_s: float
    bytes_per_s: float

    def __post_init__(self) -> None:
        at_least(0, open_s=self.open_s)
        positive(opens_per_s=self.opens_per_s, bytes_per_s=self.bytes_per_s)


@dataclass(frozen=True)
class InputSetup:
    """What the GPUs of each machine want, and how it is read.

    Args:
        wanted_per_s: samples a second that the GPUs of one machine take.
        samples_per_file: 1: small files; more: shards.
        readers: files that a machine reads at once (workers of its loaders).
        reader_bytes_per_s: what one reader gets once its file is open.
        cached_share: of the samples, those that come from the machine's own memory or disk.

    Raises:
        ValueError: naming what is none: a rate must be more than 0, bytes 0 or more.
    """

    storage: CentralStorage
    sample_bytes: float
    wanted_per_s: float
    samples_per_file: int = 1
    readers: int = 1
    reader_bytes_per_s: float = 2e9
    cached_share: float = 0.0

    def __post_init__(self) -> None:
        if not (0 <= self.cached_share <= 1 and self.samples_per_file >= 1 and self.readers >= 1):
            raise ValueError(
                "cached_share must be from 0 to 1, samples_per_file and readers at least 1, "
                f"got {self.cached_share}, {self.samples_per_file} and {self.readers}"
            )
        at_least(0, sample_bytes=self.sample_bytes)
        positive(wanted_per_s=self.wanted_per_s, reader_bytes_per_s=self.reader_bytes_per_s)

    def but(self, **changes: Any) -> InputSetup:
        """The same with some fields changed."""
        return replace(self, **changes)

    @property
    def file_s(self) -> float:
        """How long one reader needs for a file when nobody else asks: to open it, and for its bytes."""
        return self.storage.open_s + self.samples_per_file * self.sample_bytes / self.reader_bytes_per_s

    def limits(self, machines: int) -> dict[str, float]:
        """Samples a second of all machines together, as each of LIMITS alone would have it.

        A machine's GPUs take so many, and its readers bring so many; the storage answers opens and delivers bytes for
        all machines.

        Raises:
            ValueError: unless there is a machine.
        """
        at_least(1, machines=machines)
        fetched = 1 - self.cached_share
        files = fetched / self.samples_per_file  # for each sample
        by_readers = machines * self.readers / (files * self.file_s) if files * self.file_s else math.inf
        fetched_bytes = fetched * self.sample_bytes
        return {
            "GPUs": machines * self.wanted_per_s,
            "readers": by_readers,
            "opens": self.storage.opens_per_s / files if files else math.inf,
            "bandwidth": self.storage.bytes_per_s / fetched_bytes if fetched_bytes else math.inf,
        }

    def first_limit(self, machines: int) -> str:
        """The limit that is felt: the lowest."""
        limits = self.limits(machines)
        return min(LIMITS, key=limits.__getitem__)


def samples_per_s(setup: InputSetup, machines: int) -> float:
    """What all machines train together when loading and computing overlap: the lowest limit.

    >>> disk = CentralStorage("disk", open_s=0.001, opens_per_s=1000, bytes_per_s=1e9)
    >>> setup = InputSetup(disk, sample_bytes=100_000, wanted_per_s=200, readers=4)
    >>> [(samples_per_s(setup, machines), setup.first_limit(machines)) for machines in (1, 8)]
    [(200, 'GPUs'), (1000.0, 'opens')]
    """
    return min(setup.limits(machines).values())


def gpus_busy(setup: InputSetup, machines: int, gpus: int = 8) -> float:
    """How many of a machine's GPUs compute, on average over time.

    >>> disk = CentralStorage("disk", open_s=0.001, opens_per_s=1000, bytes_per_s=1e9)
    >>> gpus_busy(InputSetup(disk, sample_bytes=100_000, wanted_per_s=200, readers=4), machines=8)
    5.0
    """
    return gpus * samples_per_s(setup, machines) / (machines * setup.wanted_per_s)
