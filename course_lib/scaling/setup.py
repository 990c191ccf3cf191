"""One data-parallel step of a workload on many equal devices: compute, messages, and what of them is hidden."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from course_lib.comm import Network
from course_lib.data_parallel import BUCKET_BYTES, LayerCost, StepTimeline, step_timeline
from course_lib.scaling.device import Device
from course_lib.scaling.workload import Workload

__all__ = ["Setup"]


@dataclass(frozen=True)
class Setup:
    """What is trained on what, and how gradients are averaged.

    Args:
        all_reduce: a name of ALL_REDUCE_SECONDS.
        overlap: buckets leave while the backward pass still runs.
        sent_share: the bytes on the wire as a share of the gradients in fp32: 0.5 for fp16.
        to_all: messages cannot be added on the way: each of `sent_share` travels to all ranks, around the ring.
        compression_s_per_byte: what packing and unpacking costs for each byte of the gradients, before a bucket leaves;
            one rank alone sends nothing and packs nothing.
    """

    workload: Workload
    device: Device
    network: Network
    all_reduce: str = "ring"
    bucket_bytes: int = BUCKET_BYTES
    overlap: bool = True
    sent_share: float = 1.0
    to_all: bool = False
    compression_s_per_byte: float = 0.0

    def __post_init__(self) -> None:
        if not (self.sent_share > 0 and self.compression_s_per_byte >= 0):
            raise ValueError(
                f"sent_share must be more than 0 and compression_s_per_byte 0 or more, "
                f"got {self.sent_share} and {self.compression_s_per_byte}"
            )
        if self.to_all and self.all_reduce != "ring":
            raise ValueError(f"messages to all go around a ring, got all_reduce={self.all_reduce!r}")

    def but(self, **changes: Any) -> Setup:
        """The same with some fields changed."""
        return replace(self, **changes)

    def compute_s(self, batch: float, ranks: int = 1) -> float:
        """Forward and backward of one rank's batch, and packing and unpacking where there are others to send to."""
        packing_s = self.compression_s_per_byte * self.workload.gradient_bytes if ranks > 1 else 0.0
        return self.device.seconds(self.workload, batch) + packing_s

    def wire_share(self, ranks: float) -> float:
        """The share of the gradients that an all-reduce carries; to all: that would take a ring as long.

        (p - 1) messages of a share s are as many bytes as a ring's 2(p - 1)/p of s p/2.
        """
        return self.sent_share * ranks / 2 if self.to_all and ranks > 1 else self.sent_share

    @property
    def wire(self) -> Network:
        """The network; for messages to all with half of its latencies: they make p - 1 steps, an all-reduce twice."""
        if not self.to_all:
            return self.network
        outside = self.network.outside
        if outside is not None:
            outside = replace(outside, latency_s=outside.latency_s / 2)
        return replace(self.network, latency_s=self.network.latency_s / 2, outside=outside)

    def timeline(self, ranks: int, batch: float) -> StepTimeline:
        """The step of `ranks` ranks with `batch` examples each, layer by layer and bucket by bucket.

        Layers take their share of the time by their multiply-adds, a third of it forward. Packing is part of the
        backward pass: it keeps the device busy.
        """
        share = self.wire_share(ranks)
        work = self.device.seconds(self.workload, batch) / self.workload.flops
        packing_s_per_byte = self.compression_s_per_byte if ranks > 1 else 0.0
        layers = [
            LayerCost(
                parameter_bytes=max(1, round(layer.parameters * share)) * 4,
                forward_s=2 * layer.multiply_adds * work,
                backward_s=4 * layer.multiply_adds * work + 4 * layer.parameters * packing_s_per_byte,
            )
            for layer in self.workload.layers
        ]
        return step_timeline(
            layers,
            network=self.wire,
            world_size=ranks,
            bucket_bytes=max(1, round(self.bucket_bytes * share)),
            overlap=self.overlap,
            all_reduce=self.all_reduce,
        )
