"""Speed-up, efficiency and the share of communication as ranks are added."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

from course_lib.scaling.setup import Setup

__all__ = ["ScalingPoint", "crossover_ranks", "strong_scaling", "weak_scaling"]


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
    """
    alone_s = setup.compute_s(global_batch)
    return [_point(setup, count, global_batch / count, alone_s) for count in ranks]


def weak_scaling(setup: Setup, batch: float, ranks: Sequence[int]) -> list[ScalingPoint]:
    """The same batch for every rank, so the global one grows with them."""
    return [_point(setup, count, batch, count * setup.compute_s(batch)) for count in ranks]


def _point(setup: Setup, ranks: int, batch: float, alone_s: float) -> ScalingPoint:
    timeline = setup.timeline(ranks, batch)
    communication_s = sum(stretch.end_s - stretch.start_s for stretch in timeline.all_reduces)
    return ScalingPoint(ranks, batch, timeline.compute_s, communication_s, timeline.seconds, alone_s / timeline.seconds)


def crossover_ranks(setup: Setup, global_batch: int, most: int = 4096) -> int | None:
    """The fewest ranks at which a fixed global batch's all-reduces take longer than its passes; None up to `most`.

    From there on even perfect overlap leaves the devices waiting.
    """

    def overtakes(ranks: int) -> bool:
        (point,) = strong_scaling(setup, global_batch, [ranks])
        return point.communication_s > point.compute_s

    # More ranks: less to compute, no less to send. So what is true of some is true of all that are more.
    found = 2 + bisect_left(range(2, most + 1), True, key=overtakes)
    return found if found <= most else None
