"""Strong and weak scaling: speed-up, efficiency, the share of communication; Amdahl's and Gustafson's laws."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from course_lib.collectives import ALL_REDUCE_SECONDS
from course_lib.scaling.setup import Setup


def amdahl(serial_share: float, ranks: int) -> float:
    """How many times faster `ranks` do the *same* work: 1 / (s + (1 - s) / p), never more than 1 / s.

    Args:
        serial_share: s, the share of one rank's time that does not get shorter.

    Raises:
        ValueError: unless 0 <= serial_share <= 1 and ranks is at least 1.

    Source: G. Amdahl, "Validity of the single processor approach to achieving large scale computing capabilities",
    AFIPS 1967.

    >>> amdahl(0.25, 3), amdahl(0.25, 1_000_000) < 4
    (2.0, True)
    """
    _check(serial_share, ranks)
    return 1 / (serial_share + (1 - serial_share) / ranks)


def gustafson(serial_share: float, ranks: int) -> float:
    """How many times faster `ranks` do work that *grows* with them: s + (1 - s) p.

    Args:
        serial_share: s, the share of the time on `ranks` in which the others do not help.

    Raises:
        ValueError: unless 0 <= serial_share <= 1 and ranks is at least 1.

    Source: J. Gustafson, "Reevaluating Amdahl's law", Communications of the ACM 31(5), 1988.

    >>> gustafson(0.25, 3), gustafson(0.25, 101)
    (2.5, 76.0)
    """
    _check(serial_share, ranks)
    return serial_share + (1 - serial_share) * ranks


def _check(serial_share: float, ranks: int) -> None:
    if not (0 <= serial_share <= 1 and ranks >= 1):
        raise ValueError(f"serial_share must be from 0 to 1 and ranks at least 1, got {serial_share} and {ranks}")


class ScalingPoint(NamedTuple):
    """One step of `ranks` ranks beside one rank alone.

    Attributes:
        batch: examples of one rank, a fraction where the ranks do not divide the batch.
        compute_s: passes of one rank; communication_s: all all-reduces, hidden or not; step_s: both, as they overlap.
        speedup: examples a second over those of one rank with the same global batch (strong) or its own (weak).
    """

    ranks: int
    batch: float
    compute_s: float
    communication_s: float
    step_s: float
    speedup: float

    @property
    def efficiency(self) -> float:
        """Speed-up for each rank."""
        return self.speedup / self.ranks

    @property
    def exposed_s(self) -> float:
        """Communication that nothing hides."""
        return self.step_s - self.compute_s

    @property
    def communication_share(self) -> float:
        """The share of the step in which the devices wait for messages."""
        return self.exposed_s / self.step_s


def strong_scaling(setup: Setup, global_batch: int, ranks: Sequence[int]) -> list[ScalingPoint]:
    """The same batch on more and more ranks: each has global_batch / ranks examples.

    With a network that costs nothing this is Amdahl's law; the serial part is the device's fixed part.

    Raises:
        ValueError: if the batch is not more than 0, or a number of ranks is less than 1.
    """
    alone_s = setup.compute_s(global_batch)
    return [_point(setup, count, global_batch / max(1, count), alone_s) for count in ranks]


def weak_scaling(setup: Setup, batch: float, ranks: Sequence[int]) -> list[ScalingPoint]:
    """The same batch for every rank, so the global one grows with them.

    Raises:
        ValueError: as `strong_scaling` does.
    """
    return [_point(setup, count, batch, count * setup.compute_s(batch)) for count in ranks]


def _point(setup: Setup, ranks: int, batch: float, alone_s: float) -> ScalingPoint:
    if not (ranks >= 1 and batch > 0):
        raise ValueError(
            f"ranks must be at least 1 and their batch more than 0, got {ranks} ranks and a batch of {batch}"
        )
    timeline = setup.timeline(ranks, batch)
    communication_s = sum(stretch.end_s - stretch.start_s for stretch in timeline.all_reduces)
    return ScalingPoint(ranks, batch, timeline.compute_s, communication_s, timeline.seconds, alone_s / timeline.seconds)


def crossover_ranks(setup: Setup, global_batch: int, most: int = 4096) -> int | None:
    """The fewest ranks at which a fixed global batch's all-reduces take longer than its passes; None up to `most`.

    On a ring of equal links that is so from there on, and even perfect overlap leaves the devices waiting. Others may
    have an expensive number of ranks before a cheap one: halving-doubling off a power of two, nodes that are not full.
    So all numbers are tried.
    """
    ranks = np.arange(2, most + 1)
    batches: Any = global_batch / ranks
    bucket_bytes = np.array([bucket.message_bytes for bucket in setup.timeline(2, global_batch / 2).buckets])
    on_wire = bucket_bytes[:, None] * (ranks / 2 if setup.to_all else 1)
    seconds = ALL_REDUCE_SECONDS[setup.all_reduce](on_wire, ranks, setup.wire)
    overtakes = np.broadcast_to(seconds, (len(bucket_bytes), len(ranks))).sum(0) > setup.compute_s(batches, ranks=2)
    return int(ranks[overtakes.argmax()]) if overtakes.any() else None
