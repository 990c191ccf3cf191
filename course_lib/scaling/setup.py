"""The model of one data-parallel step: a workload, a device's throughput, and messages, of which some are hidden."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from course_lib.comm import Network
from course_lib.data_parallel import BUCKET_BYTES, LayerCost, StepTimeline, step_timeline
from course_lib.model_parallel import ALEXNET, VGG16, ConvShape, LinearShape


class LayerWork(NamedTuple):
    """One layer: its parameters, and the multiply-adds of one example in the forward pass."""

    parameters: int
    multiply_adds: float


class Workload(NamedTuple):
    """A network to train, layer by layer from input to output."""

    name: str
    layers: tuple[LayerWork, ...]

    @property
    def parameters(self) -> int:
        """All weights and biases."""
        return sum(layer.parameters for layer in self.layers)

    @property
    def gradient_bytes(self) -> int:
        """All gradients in fp32."""
        return 4 * self.parameters

    @property
    def flops(self) -> float:
        """Operations of one example, forward and backward: 2 for a multiply-add, and backward is twice forward."""
        return 6 * sum(layer.multiply_adds for layer in self.layers)


def workload_of(name: str, shapes: Sequence[ConvShape | LinearShape]) -> Workload:
    """A workload from the shapes of its layers."""
    return Workload(name, tuple(LayerWork(shape.parameters, shape.multiply_adds) for shape in shapes))


def even_workload(name: str, parameters: int, multiply_adds: float, layers: int) -> Workload:
    """A workload of which only the sums are known, spread evenly over its layers; the first have one parameter more.

    Raises:
        ValueError: if there is no layer.

    >>> even_workload("a model", parameters=13, multiply_adds=6.0, layers=3).layers[:2]
    (LayerWork(parameters=5, multiply_adds=2.0), LayerWork(parameters=4, multiply_adds=2.0))
    """
    if layers < 1:
        raise ValueError(f"a workload must have at least 1 layer, got {layers}")
    each, more = divmod(parameters, layers)
    return Workload(name, tuple(LayerWork(each + (n < more), multiply_adds / layers) for n in range(layers)))


_RESNET_BLOCKS = {50: (3, 4, 6, 3), 101: (3, 4, 23, 3), 152: (3, 8, 36, 3)}


def resnet_shapes(depth: int) -> list[ConvShape | LinearShape]:
    """Convolutions and the last layer of a residual network for pictures of 224 × 224 (batch norms left out).

    Blocks of 1 × 1, 3 × 3 and 1 × 1 convolutions; the first of a stage halves the picture in its 3 × 3 convolution, as
    common implementations do (in the paper in its first 1 × 1: 3.8 billion multiply-adds for depth 50, here 4.1).

    Raises:
        ValueError: unless depth is 50, 101 or 152.

    Source: K. He et al., "Deep residual learning for image recognition", CVPR 2016, table 1.

    >>> round(sum(shape.parameters for shape in resnet_shapes(50)) / 1e6, 1)
    25.5
    """
    if depth not in _RESNET_BLOCKS:
        raise ValueError(f"depth must be one of {sorted(_RESNET_BLOCKS)}, got {depth}")
    shapes: list[ConvShape | LinearShape] = [ConvShape("first", 3, 64, 224, 7, stride=2, padding=3)]
    channels, height = 64, 56
    for stage, blocks in enumerate(_RESNET_BLOCKS[depth], start=1):
        width = 32 * 2**stage
        for block in range(blocks):
            stride = 2 if block == 0 and stage > 1 else 1
            shapes += _block(f"stage {stage} block {block}", channels, width, height, stride, shortcut=block == 0)
            channels, height = 4 * width, height // stride
    return [*shapes, LinearShape("last", channels, 1000)]


def _block(name: str, channels: int, width: int, height: int, stride: int, shortcut: bool) -> list[ConvShape]:
    return [
        ConvShape(f"{name} narrow", channels, width, height, 1),
        ConvShape(f"{name} middle", width, width, height, 3, stride, padding=1),
        ConvShape(f"{name} wide", width, 4 * width, height // stride, 1),
        *[ConvShape(f"{name} shortcut", channels, 4 * width, height, 1, stride)] * shortcut,
    ]


# Inception-v3: 23.8 million parameters without the auxiliary head, 5.7 billion multiply-adds, 48 layers spread evenly.
# Source: C. Szegedy et al., "Rethinking the Inception architecture for computer vision", CVPR 2016, has "less than 25
# million" and "5 billion"; the sums here are torchvision's.
# GPT-2: the smallest of A. Radford et al. 2019; an example has 1,024 tokens, each one multiply-add a parameter
# (attention's own products are left out), spread evenly over its 12 blocks.
_GPT2_PARAMETERS = 124_439_808
WORKLOADS = {
    workload.name: workload
    for workload in (
        workload_of("AlexNet", ALEXNET),
        workload_of("VGG-16", VGG16),
        even_workload("Inception-v3", 23_800_000, 5.7e9, layers=48),
        *(workload_of(f"ResNet-{depth}", resnet_shapes(depth)) for depth in _RESNET_BLOCKS),
        even_workload("GPT-2", _GPT2_PARAMETERS, multiply_adds=1024 * _GPT2_PARAMETERS, layers=12),
    )
}


class Device(NamedTuple):
    """A device as one workload sees it.

    Attributes:
        flops_per_s: what it makes of an endless batch.
        half_batch: the batch with which it reaches half of that; 0 if every batch is equally efficient.
    """

    name: str
    flops_per_s: float
    half_batch: float = 0.0

    def seconds(self, workload: Workload, batch: float) -> float:
        """Forward and backward of a batch: a fixed part, which `half_batch` examples more would take, and the work."""
        return (batch + self.half_batch) * workload.flops / self.flops_per_s

    def efficiency(self, batch: float) -> float:
        """The share of `flops_per_s` that a batch reaches: batch / (batch + half_batch)."""
        return batch / (batch + self.half_batch)


def fit_device(name: str, workload: Workload, examples_per_s: Mapping[int, float]) -> Device:
    """The device on which the workload has these throughputs: batch -> examples a second, one batch or two.

    One batch alone cannot tell how much of its time is fixed, so `half_batch` is 0 then.

    Raises:
        ValueError: if there is no throughput or more than two, one is not more than 0, a larger batch takes no more
            time than a smaller one, or gives fewer examples a second: no fixed part of the time could explain that.

    >>> from course_lib.scaling import even_workload
    >>> work = even_workload("a model", parameters=1, multiply_adds=1e6, layers=1)
    >>> device = fit_device("a device", work, {10: 50.0, 40: 100.0})  # 0.2 s and 0.4 s
    >>> round(device.flops_per_s / 1e6), round(device.half_batch, 6)
    (900, 20.0)
    """
    if len(examples_per_s) not in (1, 2):
        raise ValueError(f"one or two batches say how fast a device is, got {dict(examples_per_s)}")
    if not all(batch > 0 and rate > 0 for batch, rate in examples_per_s.items()):
        raise ValueError(f"batches and their examples a second must be more than 0, got {dict(examples_per_s)}")
    seconds = {batch: batch / rate for batch, rate in examples_per_s.items()}
    small, large = min(seconds), max(seconds)
    if small == large:
        return Device(name, workload.flops * examples_per_s[large])
    example_s = (seconds[large] - seconds[small]) / (large - small)
    if example_s <= 0:
        raise ValueError(f"a larger batch must take more time than a smaller one, got seconds {seconds}")
    half_batch = seconds[large] / example_s - large
    if half_batch < -1e-9 * large:
        raise ValueError(f"a larger batch must reach as many examples a second, got {dict(examples_per_s)}")
    return Device(name, workload.flops / example_s, max(0.0, half_batch))


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
