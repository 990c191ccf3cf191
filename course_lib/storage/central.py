"""Storage that all nodes share: what each of its limits allows, and which one is felt first."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from course_lib.checks import at_least, positive

__all__ = ["LIMITS", "CentralStorage", "InputSetup", "samples_per_s"]

LIMITS = ("devices", "opens waited for", "metadata", "storage bandwidth", "links")


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
    """What each node reads, computes and sends in a step, and through which link.

    Args:
        samples_per_file: 1: small files; more: shards.
        readers: opens that a node has under way at once (workers of its loader).
        gradient_bytes: all-reduced by a ring in every step, over the same link.
        cached_share: of the samples, those that come from the node's own memory or disk.

    Raises:
        ValueError: naming what is none: a time, a rate, a batch must be more than 0, bytes 0 or more.
    """

    storage: CentralStorage
    sample_bytes: float
    batch: int
    compute_s: float
    gradient_bytes: float
    link_bytes_per_s: float
    samples_per_file: int = 1
    readers: int = 4
    cached_share: float = 0.0

    def __post_init__(self) -> None:
        if not (0 <= self.cached_share <= 1 and self.samples_per_file >= 1 and self.readers >= 1):
            raise ValueError(
                "cached_share must be from 0 to 1, samples_per_file and readers at least 1, "
                f"got {self.cached_share}, {self.samples_per_file} and {self.readers}"
            )
        at_least(1, batch=self.batch)
        at_least(0, sample_bytes=self.sample_bytes, gradient_bytes=self.gradient_bytes)
        positive(compute_s=self.compute_s, link_bytes_per_s=self.link_bytes_per_s)

    def but(self, **changes: Any) -> InputSetup:
        """The same with some fields changed."""
        return replace(self, **changes)

    def limits(self, nodes: int) -> dict[str, float]:
        """Samples a second of all nodes together, as each of LIMITS alone would have it.

        A reader of a node opens a file and waits for its bytes; the storage answers opens and delivers bytes, whoever
        asks; a link takes in a batch and a ring's share 2 (n - 1)/n of the gradients in each step.

        Raises:
            ValueError: unless there is a node.
        """
        at_least(1, nodes=nodes)
        fetched = 1 - self.cached_share
        files = fetched / self.samples_per_file  # for each sample
        fetched_bytes = fetched * self.sample_bytes
        ring_bytes = 2 * (nodes - 1) / nodes * self.gradient_bytes
        reader_s = files * self.storage.open_s + fetched_bytes / self.link_bytes_per_s
        step_bytes = self.batch * fetched_bytes + ring_bytes
        return {
            "devices": nodes * self.batch / self.compute_s,
            "opens waited for": nodes * self.readers / reader_s if reader_s else math.inf,
            "metadata": self.storage.opens_per_s / files if files else math.inf,
            "storage bandwidth": self.storage.bytes_per_s / fetched_bytes if fetched_bytes else math.inf,
            "links": nodes * self.batch * self.link_bytes_per_s / step_bytes if step_bytes else math.inf,
        }

    def first_limit(self, nodes: int) -> str:
        """The limit that is felt: the lowest."""
        limits = self.limits(nodes)
        return min(LIMITS, key=limits.__getitem__)


def samples_per_s(setup: InputSetup, nodes: int) -> float:
    """What all nodes train together when loading, messages and computing overlap: the lowest limit.

    >>> disk = CentralStorage("disk", open_s=0.001, opens_per_s=1000, bytes_per_s=1e9)
    >>> setup = InputSetup(disk, 100_000, batch=100, compute_s=0.5, gradient_bytes=0, link_bytes_per_s=1e9)
    >>> [(samples_per_s(setup, nodes), setup.first_limit(nodes)) for nodes in (1, 8)]
    [(200.0, 'devices'), (1000.0, 'metadata')]
    """
    return min(setup.limits(nodes).values())
