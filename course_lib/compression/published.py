"""What others measured of compressed gradients, and the network on which PowerSGD was measured."""

from __future__ import annotations

__all__ = ["DGC_ALEXNET_BYTES", "POWER_SGD_RANK_2", "resnet18_cifar_shapes"]

# Bytes of ResNet-18's gradients over those that rank 2 sends.
# Source: T. Vogels et al., "PowerSGD", NeurIPS 2019; the shapes are in its appendix F.
POWER_SGD_RANK_2 = 136

# Bytes of AlexNet's gradients before and after deep gradient compression with 99.9 % left out.
# Source: Y. Lin et al., "Deep gradient compression", ICLR 2018, table 3: 232.56 and 0.39 "MB", which are MiB, since
# 232.56 MiB are the 61.0 million parameters in fp32.
DGC_ALEXNET_BYTES = (232.56 * 2**20, 0.39 * 2**20)


def resnet18_cifar_shapes() -> list[tuple[int, ...]]:
    """The shapes of all parameters of ResNet-18 for 32 × 32 pictures: convolutions, batch norms, one linear layer.

    >>> import torch
    >>> sum(torch.Size(shape).numel() for shape in resnet18_cifar_shapes())
    11173962
    """
    shapes: list[tuple[int, ...]] = _convolution(3, 64, 3)
    channels = 64
    for width in (64, 128, 256, 512):
        for _ in range(2):
            shapes += _convolution(channels, width, 3) + _convolution(width, width, 3)
            shapes += _convolution(channels, width, 1) if channels != width else []
            channels = width
    return [*shapes, (10, channels), (10,)]


def _convolution(inputs: int, outputs: int, kernel: int) -> list[tuple[int, ...]]:
    return [(outputs, inputs, kernel, kernel), (outputs,), (outputs,)]
