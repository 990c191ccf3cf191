"""The scaling explorer: a workload, a GPU, a network, a batch, and a remedy."""

from __future__ import annotations

from typing import ClassVar

from course_lib.draw.units import format_seconds, one_two_five
from course_lib.scaling import SYSTEMS
from course_lib.widgets.controls import explain, menu, rate_slider, scale
from course_lib.widgets.explorer import Explorer
from course_lib.widgets.scaling.model import GPUS, OWN, RANKS, REMEDIES, ScalingSetting
from course_lib.widgets.scaling.panels import pictures

__all__ = ["ScalingExplorer"]

_ROOM_S, _CITIES_S = 5e-5, 0.075  # latencies of the page


class ScalingExplorer(Explorer):
    """One data-parallel step by the model of chapter 10, and how it scales; at first in the room of the page. What
    others published of a system stands beside its line.

    Args:
        system: one of SYSTEMS, whose model, GPUs, network and batch stand in place of the controls'; or "your own".
        workload, speed, bytes_per_s, latency_s, batch, fixed, ranks, remedy, early: where the controls stand at
            first. `speed` is that of a GPU in A100s (GPT-2) or P100s (the others); with `fixed` the batch is the global
            one, otherwise that of each GPU; `early` buckets leave during the backward pass.
    """

    moves: ClassVar = {
        "latency_s": [_ROOM_S, _CITIES_S],
        "ranks": [1, 2, 4, 16, 64, 256],
        "remedy": None,
        "early": None,
    }

    def __init__(
        self,
        *,
        system: str = OWN,
        workload: str = "GPT-2",
        speed: float = 1.0,
        bytes_per_s: float = 1.25e8,
        latency_s: float = _ROOM_S,
        batch: int = 480,
        fixed: bool = True,
        ranks: int = 16,
        remedy: str = "fp32",
        early: bool = True,
    ) -> None:
        latencies = sorted({*one_two_five(1e-6, 1e-1), _CITIES_S})
        super().__init__(
            lambda **values: pictures(ScalingSetting(**values)),
            system=menu("system", [OWN, *SYSTEMS], system),
            workload=menu("model", list(GPUS), workload),
            speed=scale("GPU's speed", [0.25, 0.5, 1, 2, 4, 8, 16], speed, lambda times: f"{times:g} ×"),
            bytes_per_s=rate_slider("link", bytes_per_s, 1e8, 1e11),
            latency_s=scale("latency", latencies, latency_s, format_seconds),
            batch=scale("batch", [32, 64, 128, 256, 480, 512, 1024, 2048, 4096, 8192], batch),
            fixed=menu("the batch is", {"that of all": True, "each GPU's": False}, fixed),
            ranks=scale("GPUs", RANKS, ranks),
            remedy=menu("sent", list(REMEDIES), remedy),
            early=menu("buckets", {"of 25 MB, early": True, "one, at the end": False}, early),
        )

    def prepare(self) -> None:
        """A published system has a model, GPUs, a network and a batch of its own; those controls rest."""
        given = self.controls["system"].value != OWN
        for name in ("workload", "speed", "bytes_per_s", "latency_s", "batch", "fixed"):
            explain(self.controls[name], given, "the published system has its own")
        outer = REMEDIES[self.controls["remedy"].value].period > 1
        explain(self.controls["early"], outer, "an outer step follows the inner ones, and nothing hides it")
