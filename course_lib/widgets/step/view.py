"""The step explorer: what one data-parallel step spends its time on, and how far it scales."""

from __future__ import annotations

from typing import ClassVar

from course_lib.widgets.controls import bytes_slider, menu, number, rate_slider, scale, seconds_slider
from course_lib.widgets.explorer import Explorer
from course_lib.widgets.step.model import BUCKETS, KINDS, RANKS, StepSetting
from course_lib.widgets.step.panels import pictures

__all__ = ["StepExplorer"]

_OVERLAP = {"during the backward pass": True, "after the backward pass": False}
_FLOPS = [1e11, 1e12, 1e13, 3e13, 1e14, 3e14, 1e15]
_MILLIONS = [1, 5, 25, 100, 138, 340, 1000, 7000]


class StepExplorer(Explorer):
    """One data-parallel step to take apart: its timeline, its speed-up by ranks, and its best bucket size.

    Everything is computed by `step_timeline`: equal layers, equal ranks, rings, float32 gradients.

    Args:
        world_size, batch, parameters, kind, layers, flops_per_s, latency_s, bytes_per_s, bucket_bytes, overlap: where
            the controls stand at first. `batch` is each rank's, `kind` a key of KINDS.
    """

    moves: ClassVar = {
        "world_size": [1, 4, 8, 16, 64, 256, 1024],
        "bytes_per_s": [1e8, 5e8, 2e9, 1e10, 5e10],
        "bucket_bytes": [10**6, 5 * 10**6, 2 * 10**7, 10**8],
        "overlap": None,
    }

    def __init__(
        self,
        *,
        world_size: int = 8,
        batch: int = 64,
        parameters: int = 25_000_000,
        kind: str = "convnet (ResNet-50)",
        layers: int = 32,
        flops_per_s: float = 1e13,
        latency_s: float = 1e-4,
        bytes_per_s: float = 2e9,
        bucket_bytes: int = 20_000_000,
        overlap: bool = True,
    ) -> None:
        sizes = sorted({*(millions * 10**6 for millions in _MILLIONS), parameters})
        super().__init__(
            lambda **values: pictures(StepSetting(**values)),
            world_size=scale("ranks", RANKS, world_size),
            batch=scale("batch of a rank", [2**k for k in range(13)], batch),
            parameters=scale("parameters", sizes, parameters, lambda n: f"{n / 1e6:g} million"),
            kind=menu("kind of network", list(KINDS), kind),
            layers=number("layers", 1, 48, layers),
            flops_per_s=scale("device", _FLOPS, flops_per_s, lambda x: f"{x / 1e12:g} TFLOP/s"),
            latency_s=seconds_slider("latency", latency_s),
            bytes_per_s=rate_slider("bandwidth", bytes_per_s),
            bucket_bytes=bytes_slider("bucket", bucket_bytes, BUCKETS[0], BUCKETS[-1]),
            overlap=menu("all-reduces", _OVERLAP, overlap),
        )
