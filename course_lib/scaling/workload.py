"""What is trained, as a cost model sees it: the parameters and the work of every layer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from course_lib.model_parallel import ALEXNET, VGG16, ConvShape, LinearShape

__all__ = ["WORKLOADS", "LayerWork", "Workload", "even_workload", "resnet_shapes", "workload_of"]


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
