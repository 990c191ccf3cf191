"""What the step explorer computes: how long one data-parallel step takes, and how that scales."""

from __future__ import annotations

import functools
from typing import NamedTuple

from course_lib.comm import Network
from course_lib.data_parallel import StepTimeline, equal_layers, step_timeline
from course_lib.draw.units import one_two_five

__all__ = ["KINDS", "RANKS", "StepSetting", "bucket_curve", "scaling_curve", "timeline_of"]

RANKS = tuple(2**k for k in range(11))
BUCKETS = tuple(int(size) for size in one_two_five(10_000, 5 * 10**9))

# Multiply-adds in the forward pass for each parameter and example: how often a parameter is used.
KINDS = {
    "convnet (ResNet-50)": 3.8e9 / 25.6e6,  # He et al., "Deep residual learning", CVPR 2016, table 1 and section 4.1
    "transformer, 512 tokens": 512.0,  # Kaplan et al., "Scaling laws", 2020, section 2.1: one for each token
    "fully connected": 1.0,
}


class StepSetting(NamedTuple):
    """All that the controls say. Each rank has `batch` examples; a multiply-add is two floating-point operations."""

    world_size: int
    batch: int
    parameters: int
    kind: str
    layers: int
    flops_per_s: float
    latency_s: float
    bytes_per_s: float
    bucket_bytes: int
    overlap: bool

    @property
    def forward_s(self) -> float:
        """Seconds of the forward pass; the backward pass takes twice as long."""
        return 2 * KINDS[self.kind] * self.parameters * self.batch / self.flops_per_s


def timeline_of(setting: StepSetting) -> StepTimeline:
    """The step's timeline, its gradients averaged by rings of float32."""
    layers = equal_layers(
        setting.layers,
        parameter_bytes=4 * setting.parameters,
        forward_s=setting.forward_s,
        backward_s=2 * setting.forward_s,
    )
    return step_timeline(
        layers,
        network=Network(setting.latency_s, setting.bytes_per_s),
        world_size=setting.world_size,
        bucket_bytes=setting.bucket_bytes,
        overlap=setting.overlap,
    )


@functools.lru_cache(maxsize=64)
def scaling_curve(setting: StepSetting) -> list[float]:
    """Examples per second with each of RANKS, over those of one rank; the setting's own world_size does not matter."""
    one_s = timeline_of(setting._replace(world_size=1)).compute_s
    return [ranks * one_s / timeline_of(setting._replace(world_size=ranks)).seconds for ranks in RANKS]


@functools.lru_cache(maxsize=64)
def bucket_curve(setting: StepSetting) -> list[float]:
    """Seconds of the step with each of BUCKETS; the setting's own bucket_bytes does not matter."""
    return [timeline_of(setting._replace(bucket_bytes=size)).seconds for size in BUCKETS]
