"""The step explorer: what one data-parallel step spends its time on, and how far it scales."""

from __future__ import annotations

from typing import ClassVar

from course_lib.widgets.controls import bytes_slider, menu, scale, seconds_slider
from course_lib.widgets.explorer import Explorer
from course_lib.widgets.step.model import BUCKETS, RANKS, StepSetting
from course_lib.widgets.step.panels import pictures

__all__ = ["StepExplorer"]

_OVERLAP = {"during the backward pass": True, "after the backward pass": False}
_TENSORS = [1, 2, 4, 8, 16, 32, 64, 160, 320]
_GIGABITS = [0.1, 1, 10, 25, 50, 100, 200, 400]
_MILLIONS = [1, 5, 25, 100, 138, 340, 1000, 7000]


class StepExplorer(Explorer):
    """One data-parallel step to take apart: its timeline, its speed-up by servers, and its best bucket size.

    Everything is computed by `step_timeline`: equal tensors, equal servers, rings, float32 gradients. At first it is
    the step of chapter 01: ResNet-50 on 32 servers, in twenty buckets.

    Args:
        world_size, parameters, tensors, forward_s, backward_s, latency_s, bytes_per_s, bucket_bytes, overlap: where the
            controls stand at first; `forward_s` is all of a step before its backward pass.
    """

    moves: ClassVar = {
        "world_size": [1, 8, 32, 128, 1024],
        "bytes_per_s": [1.25e9, 3.125e9, 6.25e9, 1.25e10],
        "bucket_bytes": [500_000, 2_000_000, 5_000_000, 20_000_000, 100_000_000],
        "overlap": None,
    }

    def __init__(
        self,
        *,
        world_size: int = 32,
        parameters: int = 25_000_000,
        tensors: int = 160,
        forward_s: float = 0.107,
        backward_s: float = 0.125,
        latency_s: float = 1e-5,
        bytes_per_s: float = 6.25e9,
        bucket_bytes: int = 5_000_000,
        overlap: bool = True,
    ) -> None:
        sizes = sorted({*(millions * 10**6 for millions in _MILLIONS), parameters})
        links = sorted({*(gigabits * 125e6 for gigabits in _GIGABITS), bytes_per_s})
        super().__init__(
            lambda **values: pictures(StepSetting(**values)),
            world_size=scale("servers", RANKS, world_size),
            parameters=scale("parameters", sizes, parameters, lambda n: f"{n / 1e6:g} million"),
            tensors=scale("tensors", sorted({*_TENSORS, tensors}), tensors),
            forward_s=seconds_slider("forward pass", forward_s, 1e-3, 1.0),
            backward_s=seconds_slider("backward pass", backward_s, 1e-3, 1.0),
            latency_s=seconds_slider("latency", latency_s),
            bytes_per_s=scale("network", links, bytes_per_s, lambda b: f"{b / 125e6:g} Gbit/s"),
            bucket_bytes=bytes_slider("bucket", bucket_bytes, BUCKETS[0], BUCKETS[-1]),
            overlap=menu("all-reduces", _OVERLAP, overlap),
        )
