"""The scaling explorer: a workload, a device, a network, a batch, and a remedy."""

from __future__ import annotations

from typing import ClassVar

from course_lib.scaling import P100_EXAMPLES_PER_S, SYSTEMS
from course_lib.widgets.controls import explain, menu, rate_slider, scale, seconds_slider
from course_lib.widgets.explorer import Explorer
from course_lib.widgets.scaling.model import OWN, RANKS, REMEDIES, ScalingSetting
from course_lib.widgets.scaling.panels import pictures

__all__ = ["ScalingExplorer"]


class ScalingExplorer(Explorer):
    """One data-parallel step by the model of chapter 10, and how it scales. What others published of a
    system stands beside its line.

    Args:
        system: one of SYSTEMS, whose model, devices, network and batch stand in place of the controls'; or "your own".
        workload, speed, bytes_per_s, latency_s, batch, fixed, ranks, remedy, overlap: where the controls stand at
            first. `speed` is that of a device in P100s; with `fixed` the batch is the global one, else each device's.
    """

    moves: ClassVar = {"system": None, "ranks": [1, 4, 16, 64, 256, 1024], "remedy": None, "overlap": None}

    def __init__(
        self,
        *,
        system: str = OWN,
        workload: str = "AlexNet",
        speed: float = 1.0,
        bytes_per_s: float = 6.8e9,
        latency_s: float = 1e-5,
        batch: int = 512,
        fixed: bool = True,
        ranks: int = 16,
        remedy: str = "fp32",
        overlap: bool = True,
    ) -> None:
        super().__init__(
            lambda **values: pictures(ScalingSetting(**values)),
            system=menu("system", [OWN, *SYSTEMS], system),
            workload=menu("model", list(P100_EXAMPLES_PER_S), workload),
            speed=scale("device's speed", [0.25, 0.5, 1, 2, 4, 8, 16], speed, lambda times: f"{times:g} × P100"),
            bytes_per_s=rate_slider("link", bytes_per_s, 1e8, 1e11),
            latency_s=seconds_slider("latency", latency_s, 1e-6, 1e-1),
            batch=scale("batch", [32, 64, 128, 256, 512, 1024, 2048, 4096, 8192], batch),
            fixed=menu("the batch is", {"that of all": True, "each device's": False}, fixed),
            ranks=scale("devices", RANKS, ranks),
            remedy=menu("sent", list(REMEDIES), remedy),
            overlap=menu("overlap", {"buckets leave early": True, "after backward": False}, overlap),
        )

    def prepare(self) -> None:
        """A published system has a model, devices, a network and a batch of its own; those controls rest."""
        given = self.controls["system"].value != OWN
        for name in ("workload", "speed", "bytes_per_s", "latency_s", "batch", "fixed"):
            explain(self.controls[name], given, "the published system has its own")
        outer = REMEDIES[self.controls["remedy"].value].period > 1
        explain(self.controls["overlap"], outer, "an outer step follows the inner ones, and nothing hides it")
