"""The learning rate of a batch k times as large, as a pure function of the epoch.

rate                     ┌──────── scaled rate
       gradual  ／───────┘
base  ──────────          ▔▔▔▔▔ ×0.1 at each decay
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from course_lib.checks import positive

__all__ = ["SCALINGS", "WARM_UPS", "Schedule", "scaled_rate", "updates_per_epoch"]

SCALINGS = ("linear", "sqrt", "none")
WARM_UPS = ("gradual", "constant", "none")


def updates_per_epoch(examples: int, batch_per_device: int, devices: int) -> int:
    """How often the weights change in one epoch when every device takes its own batch; the last may be smaller.

    `batch_size = 32 * num_devices` makes an epoch shorter, and the weights change as much less often.

    >>> [updates_per_epoch(1437, 32, devices) for devices in (1, 2, 8, 45)]
    [45, 23, 6, 1]
    """
    return math.ceil(examples / (batch_per_device * devices))


def scaled_rate(base_rate: float, times: float, scaling: str = "linear") -> float:
    """The rate for a batch `times` as large as the one for which `base_rate` is right.

    "linear": k small steps go about as far as one that is k times as long, while the gradient changes little on the
    way. "sqrt": the noise that a step adds keeps its size. "none": the base rate.

    Raises:
        ValueError: if `scaling` is another word.

    Source: Goyal et al., arXiv 1706.02677, 2017, section 2.1 (linear); Krizhevsky, arXiv 1404.5997, 2014 (√k).

    >>> [scaled_rate(0.1, 16, scaling) for scaling in SCALINGS]
    [1.6, 0.4, 0.1]
    """
    if scaling not in SCALINGS:
        raise ValueError(f"scaling must be one of {SCALINGS}, got {scaling!r}")
    return base_rate * {"linear": times, "sqrt": math.sqrt(times), "none": 1}[scaling]


@dataclass(frozen=True)
class Schedule:
    """A learning rate that warms up, stays, and decays in steps.

    Args:
        base_rate: right for the small batch.
        times: k, how many times as large the batch is.
        warm_up: "gradual" rises from the base rate to the scaled one, "constant" keeps the base rate until the
            warm-up ends, "none" has the scaled rate from the first step.
        decay_epochs: at each of these the rate falls to a tenth.

    Raises:
        ValueError: if `scaling` or `warm_up` is a word of which nothing is known.

    Source: Goyal et al., arXiv 1706.02677, 2017, section 2.2.

    >>> schedule = Schedule(0.1, times=8, warm_up_epochs=2, decay_epochs=(6,))
    >>> [round(schedule.rate(epoch), 3) for epoch in (0, 1, 2, 5.9, 6)]
    [0.1, 0.45, 0.8, 0.8, 0.08]
    """

    base_rate: float
    times: float = 1
    scaling: str = "linear"
    warm_up: str = "gradual"
    warm_up_epochs: float = 0
    decay_epochs: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        positive(base_rate=self.base_rate, times=self.times)
        scaled_rate(self.base_rate, self.times, self.scaling)
        if self.warm_up not in WARM_UPS:
            raise ValueError(f"warm_up must be one of {WARM_UPS}, got {self.warm_up!r}")

    def rate(self, epoch: float) -> float:
        """The rate when `epoch` epochs have passed; halves count."""
        scaled = scaled_rate(self.base_rate, self.times, self.scaling)
        if self.warm_up != "none" and epoch < self.warm_up_epochs:
            part = epoch / self.warm_up_epochs if self.warm_up == "gradual" else 0
            return self.base_rate + part * (scaled - self.base_rate)
        return scaled * 0.1 ** sum(epoch >= decay for decay in self.decay_epochs)
