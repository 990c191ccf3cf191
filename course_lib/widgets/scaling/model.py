"""What the scaling explorer computes: one step of a workload on P100s, or of a published system, and its curve."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

from course_lib.comm import Network
from course_lib.scaling import (
    P100_EXAMPLES_PER_S,
    SYSTEMS,
    WORKLOADS,
    Device,
    ScalingPoint,
    Setup,
    System,
    crossover_ranks,
    fit_device,
)

__all__ = ["OWN", "PLAIN", "RANKS", "REMEDIES", "Scaling", "ScalingSetting"]

OWN = "your own"
RANKS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
# What is sent, as a share of fp32, on a ring: the most that a remedy whose messages cannot be added could bring.
PLAIN = "fp32"
REMEDIES = {PLAIN: 1.0, "fp16": 1 / 2, "int8": 1 / 4, "1 bit": 1 / 32, "a hundredth": 1 / 100}


class ScalingSetting(NamedTuple):
    """All that the controls say. `batch` is the global one if it is fixed, else that of each device.

    With a published system everything up to `fixed` is its own.
    """

    system: str
    workload: str
    speed: float
    bytes_per_s: float
    latency_s: float
    batch: int
    fixed: bool
    ranks: int
    remedy: str
    overlap: bool


class Scaling:
    """What follows from a setting."""

    def __init__(self, setting: ScalingSetting) -> None:
        self.setting = setting
        system = _own(setting) if setting.system == OWN else SYSTEMS[setting.system]
        self.setup = system.setup.but(overlap=setting.overlap, sent_share=REMEDIES[setting.remedy])
        self.system = system._replace(setup=self.setup)

    def points(self, ranks: tuple[int, ...]) -> list[ScalingPoint]:
        """The curve at these numbers of devices."""
        return self.system.points(ranks)

    def efficiency(self, point: ScalingPoint) -> float:
        """Speed-up a device, over that of as many devices as the system was compared with."""
        return point.efficiency / self._base_efficiency

    @cached_property
    def _base_efficiency(self) -> float:
        return self.points((self.system.base,))[0].efficiency

    @cached_property
    def here(self) -> ScalingPoint:
        """The step that the controls stand at."""
        return self.points((self.setting.ranks,))[0]

    @cached_property
    def plain(self) -> Scaling | None:
        """The same without the remedy; None where there is none."""
        plain = self.setting._replace(remedy=PLAIN)
        return Scaling(plain) if plain != self.setting else None

    @cached_property
    def crossover(self) -> int | None:
        """From how many devices on the all-reduces take longer than the passes, with a fixed batch."""
        return crossover_ranks(self.setup, self.system.batch) if self.system.fixed else None


def _own(setting: ScalingSetting) -> System:
    workload = WORKLOADS[setting.workload]
    measured = fit_device("P100", workload, P100_EXAMPLES_PER_S[setting.workload])
    device = Device("device", measured.flops_per_s * setting.speed, measured.half_batch)
    network = Network(latency_s=setting.latency_s, bytes_per_s=setting.bytes_per_s)
    return System(Setup(workload, device, network), setting.batch, setting.fixed, {})
