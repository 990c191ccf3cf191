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

__all__ = ["OWN", "PLAIN", "RANKS", "REMEDIES", "Remedy", "Scaling", "ScalingSetting"]

OWN = "your own"
RANKS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
PLAIN = "fp32"


class Remedy(NamedTuple):
    """What is sent, as a share of fp32 (on a ring: the most that messages which cannot be added could bring), and how
    often: once in so many steps. More than 1: an outer step, of all parameters, which nothing hides."""

    share: float
    period: int = 1


REMEDIES = {PLAIN: Remedy(1.0), "fp16": Remedy(1 / 2), "int8": Remedy(1 / 4), "1 bit": Remedy(1 / 32)}
REMEDIES |= {"a hundredth": Remedy(1 / 100)}
REMEDIES |= {f"outer step every {period}": Remedy(1.0, period) for period in (8, 500)}


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
        self.remedy = REMEDIES[setting.remedy]
        overlap = setting.overlap and self.remedy.period == 1
        self.setup = system.setup.but(overlap=overlap, sent_share=self.remedy.share)
        self.system = system._replace(setup=self.setup)

    def points(self, ranks: tuple[int, ...]) -> list[ScalingPoint]:
        """The curve at these numbers of devices; of a step on average."""
        return [_on_average(point, self.remedy.period) for point in self.system.points(ranks)]

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
        device = self.setup.device
        so_many_steps = self.setup.but(device=device._replace(flops_per_s=device.flops_per_s / self.remedy.period))
        return crossover_ranks(so_many_steps, self.system.batch) if self.system.fixed else None


def _on_average(point: ScalingPoint, period: int) -> ScalingPoint:
    """A step of so many, of which one is followed by what is sent."""
    step_s = point.compute_s + point.exposed_s / period
    speedup = point.speedup * point.step_s / step_s
    return point._replace(communication_s=point.communication_s / period, step_s=step_s, speedup=speedup)


def _own(setting: ScalingSetting) -> System:
    workload = WORKLOADS[setting.workload]
    measured = fit_device("P100", workload, P100_EXAMPLES_PER_S[setting.workload])
    device = Device("device", measured.flops_per_s * setting.speed, measured.half_batch)
    network = Network(latency_s=setting.latency_s, bytes_per_s=setting.bytes_per_s)
    return System(Setup(workload, device, network), setting.batch, setting.fixed, {})
