"""What others measured of compressed gradients; the network on which PowerSGD was measured, and the page's own."""

from __future__ import annotations

# Bytes of ResNet-18's gradients over those that rank 2 sends.
# Source: T. Vogels et al., "PowerSGD", NeurIPS 2019; the shapes are in its appendix F.
POWER_SGD_RANK_2 = 136


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


def gpt2_shapes(
    layers: int = 12, width: int = 768, vocabulary: int = 50_257, context: int = 1024
) -> list[tuple[int, ...]]:
    """The shapes of all parameters of GPT-2 (124M), whose last layer shares the table of tokens.

    Source: A. Radford et al., "Language models are unsupervised multitask learners", 2019.

    >>> import torch
    >>> sum(torch.Size(shape).numel() for shape in gpt2_shapes())
    124439808
    """
    shapes: list[tuple[int, ...]] = [(vocabulary, width), (context, width)]
    for _ in range(layers):
        for inputs, outputs in ((width, 3 * width), (width, width), (width, 4 * width), (4 * width, width)):
            shapes += [(outputs, inputs), (outputs,)]
        shapes += [(width,)] * 4  # two norms
    return [*shapes, (width,), (width,)]


def _convolution(inputs: int, outputs: int, kernel: int) -> list[tuple[int, ...]]:
    return [(outputs, inputs, kernel, kernel), (outputs,), (outputs,)]
