"""What the scaling explorer computes: one step of a workload on GPUs, or of a published system, and its curve."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

from course_lib.comm import Network
from course_lib.scaling import (
    NANOGPT_A100_EXAMPLES_PER_S,
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

__all__ = ["GPUS", "OWN", "PLAIN", "RANKS", "REMEDIES", "Remedy", "Scaling", "ScalingSetting"]

OWN = "your own"
RANKS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
PLAIN = "fp32"
GPUS = {"GPT-2": fit_device("A100", WORKLOADS["GPT-2"], NANOGPT_A100_EXAMPLES_PER_S)}
GPUS |= {name: fit_device("P100", WORKLOADS[name], rates) for name, rates in P100_EXAMPLES_PER_S.items()}


class Remedy(NamedTuple):
    """What is sent, as a share of fp32; whether each message travels to all; and how often: once in so many steps.
    More than 1: an outer step, of all parameters, which nothing hides."""

    share: float
    to_all: bool = False
    period: int = 1


REMEDIES = {PLAIN: Remedy(1.0), "fp16": Remedy(1 / 2), "1 bit, to all": Remedy(1 / 32, to_all=True)}
REMEDIES |= {"top 1%, to all": Remedy(2 / 100, to_all=True), "1 bit, cut": Remedy(1 / 32)}  # a place and a value: twice
REMEDIES |= {f"outer step every {period}": Remedy(1.0, period=period) for period in (8, 100, 500)}


class ScalingSetting(NamedTuple):
    """All that the controls say. `batch` is the global one if it is fixed, otherwise that of each GPU.

    With a published system everything up to `fixed` is its own. `early`: buckets of 25 MB leave during the backward
    pass; otherwise a single one leaves after it.
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
    early: bool


class Scaling:
    """What follows from a setting."""

    def __init__(self, setting: ScalingSetting) -> None:
        self.setting = setting
        system = _own(setting) if setting.system == OWN else SYSTEMS[setting.system]
        self.remedy = REMEDIES[setting.remedy]
        self.setup = system.setup.but(sent_share=self.remedy.share, to_all=self.remedy.to_all)
        if not setting.early or self.remedy.period > 1:
            self.setup = self.setup.but(overlap=False, bucket_bytes=system.setup.workload.gradient_bytes)
        self.system = system._replace(setup=self.setup)

    def points(self, ranks: tuple[int, ...]) -> list[ScalingPoint]:
        """The curve at these numbers of GPUs; of a step on average."""
        return [_on_average(point, self.remedy.period) for point in self.system.points(ranks)]

    def efficiency(self, point: ScalingPoint) -> float:
        """Speed-up per GPU, over that of as many GPUs as the system was compared with."""
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
        """From how many GPUs on the all-reduces take longer than the passes, with a fixed batch."""
        device = self.setup.device
        so_many_steps = self.setup.but(device=device._replace(flops_per_s=device.flops_per_s / self.remedy.period))
        return crossover_ranks(so_many_steps, self.system.batch) if self.system.fixed else None


def _on_average(point: ScalingPoint, period: int) -> ScalingPoint:
    """A step of so many, of which one is followed by what is sent."""
    step_s = point.compute_s + point.exposed_s / period
    speedup = point.speedup * point.step_s / step_s
    return point._replace(communication_s=point.communication_s / period, step_s=step_s, speedup=speedup)


def _own(setting: ScalingSetting) -> System:
    workload, gpu = WORKLOADS[setting.workload], GPUS[setting.workload]
    name = gpu.name if setting.speed == 1 else f"{setting.speed:g} × {gpu.name}"
    device = Device(name, gpu.flops_per_s * setting.speed, gpu.half_batch)
    network = Network(latency_s=setting.latency_s, bytes_per_s=setting.bytes_per_s)
    return System(Setup(workload, device, network), setting.batch, setting.fixed, {})
