"""What the step explorer computes: how long one data-parallel step takes, and how that scales."""

from __future__ import annotations

import functools
from typing import NamedTuple

from course_lib.comm import Network
from course_lib.data_parallel import StepTimeline, equal_layers, step_timeline
from course_lib.draw.units import one_two_five

__all__ = ["BATCH", "RANKS", "StepSetting", "bucket_curve", "scaling_curve", "timeline_of"]

RANKS = tuple(2**k for k in range(11))
BUCKETS = tuple(int(size) for size in one_two_five(10_000, 5 * 10**9))

IMAGES = 90 * 1_281_167  # 90 epochs of ImageNet
BATCH = 256  # images of a server in one step


class StepSetting(NamedTuple):
    """All that the controls say: a ring of `world_size` servers, and a network of `tensors` equal tensors."""

    world_size: int
    parameters: int
    tensors: int
    forward_s: float
    backward_s: float
    latency_s: float
    bytes_per_s: float
    bucket_bytes: int
    overlap: bool

    @property
    def steps(self) -> int:
        """Of 90 epochs of ImageNet, with BATCH images for each server."""
        return IMAGES // (BATCH * self.world_size)


def timeline_of(setting: StepSetting) -> StepTimeline:
    """The step's timeline, its gradients averaged by rings of float32."""
    layers = equal_layers(
        setting.tensors,
        parameter_bytes=4 * setting.parameters,
        forward_s=setting.forward_s,
        backward_s=setting.backward_s,
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
    """Images per second with each of RANKS, over those of one rank; the setting's own world_size does not matter."""
    one_s = timeline_of(setting._replace(world_size=1)).compute_s
    return [ranks * one_s / timeline_of(setting._replace(world_size=ranks)).seconds for ranks in RANKS]


@functools.lru_cache(maxsize=64)
def bucket_curve(setting: StepSetting) -> list[float]:
    """Seconds of the step with each of BUCKETS; the setting's own bucket_bytes does not matter."""
    return [timeline_of(setting._replace(bucket_bytes=size)).seconds for size in BUCKETS]
