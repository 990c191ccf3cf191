"""What the scaling explorer computes: one step of a workload on P100s, or faster ones, and the curve around it."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

from course_lib.comm import Network
from course_lib.scaling import (
    P100_EXAMPLES_PER_S,
    WORKLOADS,
    Device,
    ScalingPoint,
    Setup,
    crossover_ranks,
    fit_device,
    strong_scaling,
    weak_scaling,
)

__all__ = ["RANKS", "REMEDIES", "Scaling", "ScalingSetting"]

RANKS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
# What is sent, as a share of fp32, on a ring: the most that a remedy whose messages cannot be added could bring.
REMEDIES = {"fp32": 1.0, "fp16": 1 / 2, "int8": 1 / 4, "1 bit": 1 / 32, "a hundredth": 1 / 100}


class ScalingSetting(NamedTuple):
    """All that the controls say. `batch` is the global one if it is fixed, else that of each device."""

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
        workload = WORKLOADS[setting.workload]
        measured = fit_device("P100", workload, P100_EXAMPLES_PER_S[setting.workload])
        device = Device("device", measured.flops_per_s * setting.speed, measured.half_batch)
        network = Network(latency_s=setting.latency_s, bytes_per_s=setting.bytes_per_s)
        share = REMEDIES[setting.remedy]
        self.setup = Setup(workload, device, network, overlap=setting.overlap, sent_share=share)

    def points(self, ranks: tuple[int, ...]) -> list[ScalingPoint]:
        """The curve at these numbers of devices."""
        scaled = strong_scaling if self.setting.fixed else weak_scaling
        return scaled(self.setup, self.setting.batch, ranks)

    @cached_property
    def here(self) -> ScalingPoint:
        """The step that the controls stand at."""
        return self.points((self.setting.ranks,))[0]

    @cached_property
    def crossover(self) -> int | None:
        """From how many devices on the all-reduces take longer than the passes, with a fixed batch."""
        return crossover_ranks(self.setup, self.setting.batch) if self.setting.fixed else None
