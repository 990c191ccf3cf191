"""Three small networks whose graphs are no chains: residual, U-Net-like and DenseNet-like."""

from __future__ import annotations

import torch
from torch import nn

__all__ = ["Classify", "DenseNet", "ResidualNet", "UNet"]


def _layers(inputs: int, outputs: int) -> nn.Sequential:
    """A convolution of 3 × 3, batch normalization, and ReLU."""
    convolution = nn.Conv2d(inputs, outputs, 3, padding=1, bias=False)
    return nn.Sequential(convolution, nn.BatchNorm2d(outputs), nn.ReLU())


class Classify(nn.Module):
    """The mean over the picture, and a linear layer; one node of a graph."""

    leaf = True

    def __init__(self, channels: int, classes: int = 10) -> None:
        super().__init__()
        self.linear = nn.Linear(channels, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:  # [batch, channels, height, width] -> [batch, classes]
        return self.linear(x.mean((2, 3)))


class ResidualNet(nn.Module):
    """Blocks of two convolutions around which the value also passes as it is.

    Source: He et al., "Deep residual learning for image recognition", arXiv 1512.03385, section 3.1.
    """

    def __init__(self, blocks: int = 4, channels: int = 8) -> None:
        super().__init__()
        self.stem = _layers(3, channels)
        two = (nn.Sequential(_layers(channels, channels), *_layers(channels, channels)[:2]) for _ in range(blocks))
        self.blocks = nn.ModuleList(two)
        self.activations = nn.ModuleList(nn.ReLU() for _ in range(blocks))
        self.head = Classify(channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.stem(x)
        for block, activation in zip(self.blocks, self.activations, strict=True):
            x = activation(x + block(x))
        return self.head(x)


class UNet(nn.Module):
    """Down to small pictures and up again; each level up also takes what the same level gave on the way down.

    Source: Ronneberger, Fischer and Brox, "U-Net", arXiv 1505.04597.
    """

    def __init__(self, levels: int = 3, channels: int = 8, dropout: float = 0.1) -> None:
        super().__init__()
        widths = [channels * 2**level for level in range(levels + 1)]
        self.down = nn.ModuleList(_layers(*each) for each in zip([3, *widths], widths[:-1], strict=False))
        self.pool = nn.ModuleList(nn.MaxPool2d(2) for _ in range(levels))
        self.bottom = nn.Sequential(_layers(widths[-2], widths[-1]), nn.Dropout(dropout))
        pairs = list(zip(widths[:0:-1], widths[-2::-1], strict=True))
        self.up = nn.ModuleList(nn.ConvTranspose2d(inputs, outputs, 2, stride=2) for inputs, outputs in pairs)
        self.join = nn.ModuleList(_layers(2 * outputs, outputs) for _, outputs in pairs)
        self.head = nn.Conv2d(channels, 1, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        skips = []
        for down, pool in zip(self.down, self.pool, strict=True):
            skips.append(down(x))
            x = pool(skips[-1])
        x = self.bottom(x)
        for up, join in zip(self.up, self.join, strict=True):
            x = join(torch.cat([skips.pop(), up(x)], dim=1))
        return self.head(x)


class DenseNet(nn.Module):
    """Each layer takes the values of all before it, joined.

    Source: Huang et al., "Densely connected convolutional networks", arXiv 1608.06993.
    """

    def __init__(self, layers: int = 5, channels: int = 8) -> None:
        super().__init__()
        self.stem = _layers(3, channels)
        self.layers = nn.ModuleList(_layers(channels * (number + 1), channels) for number in range(layers))
        self.head = Classify(channels * (layers + 1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        values = [self.stem(x)]
        for layer in self.layers:
            values.append(layer(torch.cat(values, dim=1)))
        return self.head(torch.cat(values, dim=1))
