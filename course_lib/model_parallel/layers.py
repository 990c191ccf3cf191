"""Layers as the cost models see them: shapes, parameters, activations and multiply-adds, and two published networks."""

from __future__ import annotations

from dataclasses import dataclass

from course_lib.model_parallel.halo import RowKernel


@dataclass(frozen=True)
class LinearShape:
    """A fully connected layer."""

    name: str
    inputs: int
    outputs: int

    @property
    def parameters(self) -> int:
        """Weights and biases."""
        return self.outputs * (self.inputs + 1)

    @property
    def input_elements(self) -> int:
        """Activations that one example brings."""
        return self.inputs

    @property
    def output_elements(self) -> int:
        """Activations that one example leaves."""
        return self.outputs

    @property
    def multiply_adds(self) -> int:
        """Of one example, forward."""
        return self.inputs * self.outputs


@dataclass(frozen=True)
class ConvShape:
    """A convolution on square pictures. `height` is the input's; a pooling behind it is told by the next layer's."""

    name: str
    in_channels: int
    out_channels: int
    height: int
    kernel: int
    stride: int = 1
    padding: int = 0
    groups: int = 1

    @property
    def rows(self) -> RowKernel:
        """How it moves down the picture (and across it)."""
        return RowKernel(self.kernel, self.stride, self.padding)

    @property
    def out_height(self) -> int:
        """Rows (and columns) of the output."""
        return self.rows.output_height(self.height)

    @property
    def parameters(self) -> int:
        """Weights and biases."""
        return self.out_channels * (self.kernel**2 * self.in_channels // self.groups + 1)

    @property
    def input_elements(self) -> int:
        """Activations that one example brings."""
        return self.in_channels * self.height**2

    @property
    def output_elements(self) -> int:
        """Activations that one example leaves."""
        return self.out_channels * self.out_height**2

    @property
    def multiply_adds(self) -> int:
        """Of one example, forward."""
        return self.out_height**2 * self.kernel**2 * self.in_channels // self.groups * self.out_channels


Shape = LinearShape | ConvShape

# Krizhevsky, Sutskever and Hinton, "ImageNet classification with deep convolutional neural networks", NIPS 2012,
# section 3.5. Layers 2, 4 and 5 see half of the channels each (two groups).
ALEXNET: tuple[Shape, ...] = (
    ConvShape("conv1", 3, 96, height=227, kernel=11, stride=4),
    ConvShape("conv2", 96, 256, height=27, kernel=5, padding=2, groups=2),
    ConvShape("conv3", 256, 384, height=13, kernel=3, padding=1),
    ConvShape("conv4", 384, 384, height=13, kernel=3, padding=1, groups=2),
    ConvShape("conv5", 384, 256, height=13, kernel=3, padding=1, groups=2),
    LinearShape("fc6", 256 * 6 * 6, 4096),
    LinearShape("fc7", 4096, 4096),
    LinearShape("fc8", 4096, 1000),
)

# Simonyan and Zisserman, "Very deep convolutional networks for large-scale image recognition", ICLR 2015, table 1, D.
_VGG16_CHANNELS = ((64, 64), (128, 128), (256, 256, 256), (512, 512, 512), (512, 512, 512))


def _vgg16() -> tuple[Shape, ...]:
    layers: list[Shape] = []
    channels, height = 3, 224
    for block, widths in enumerate(_VGG16_CHANNELS, 1):
        for number, width in enumerate(widths, 1):
            layers.append(ConvShape(f"conv{block}_{number}", channels, width, height, kernel=3, padding=1))
            channels = width
        height //= 2
    sizes = (512 * 7 * 7, 4096, 4096, 1000)
    return (*layers, *(LinearShape(f"fc{6 + i}", sizes[i], sizes[i + 1]) for i in range(3)))


VGG16: tuple[Shape, ...] = _vgg16()
