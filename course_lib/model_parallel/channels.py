"""A convolution split by its channels: the fully connected layer's two splits once more, with pictures for numbers.

Split by output channels every rank needs the whole input picture; split by input channels the ranks' outputs are
summed. Weights are small and pictures are large, so here the splits move far more than data parallelism.
"""

from __future__ import annotations

import torch
from torch.nn.functional import conv2d
from torch.nn.grad import conv2d_input, conv2d_weight

from course_lib.collectives import ring_all_reduce
from course_lib.comm import Communicator
from course_lib.model_parallel.layouts import own_part

__all__ = ["InputChannelConv2d", "OutputChannelConv2d"]


class OutputChannelConv2d:
    """Every rank owns some output channels. Pictures are [batch, channels, height, width]."""

    def __init__(self, comm: Communicator, weight: torch.Tensor, bias: torch.Tensor, **geometry: int) -> None:
        _refuse_too_few(comm, weight.shape[0], "output")
        self.comm, self.geometry = comm, geometry  # stride, padding, dilation, as conv2d takes them
        self.weight, self.bias = own_part(comm, weight, 0), own_part(comm, bias, 0)

    def forward(self, x: torch.Tensor) -> torch.Tensor:  # all input channels -> this rank's output channels
        """Nothing crosses."""
        self.x = x
        return conv2d(x, self.weight, self.bias, **self.geometry)

    def backward(self, y_grad: torch.Tensor) -> torch.Tensor:
        """The gradient of the whole input picture is summed."""
        self.weight_grad = conv2d_weight(self.x, self.weight.shape, y_grad, **self.geometry)
        self.bias_grad = y_grad.sum((0, 2, 3))
        x_grad = conv2d_input(self.x.shape, self.weight, y_grad, **self.geometry).contiguous()
        ring_all_reduce(self.comm, x_grad)
        return x_grad


class InputChannelConv2d:
    """Every rank owns some input channels, and the bias is added once, after the sum."""

    def __init__(self, comm: Communicator, weight: torch.Tensor, bias: torch.Tensor, **geometry: int) -> None:
        _refuse_too_few(comm, weight.shape[1], "input")
        self.comm, self.geometry = comm, geometry
        self.weight, self.bias = own_part(comm, weight, 1), bias.clone()

    def forward(self, x: torch.Tensor) -> torch.Tensor:  # this rank's input channels -> all output channels
        """The whole output picture is summed."""
        self.x = x
        y = conv2d(x, self.weight, **self.geometry).contiguous()
        ring_all_reduce(self.comm, y)
        return y + self.bias.view(-1, 1, 1)

    def backward(self, y_grad: torch.Tensor) -> torch.Tensor:
        """Nothing crosses."""
        self.weight_grad = conv2d_weight(self.x, self.weight.shape, y_grad, **self.geometry)
        self.bias_grad = y_grad.sum((0, 2, 3))
        return conv2d_input(self.x.shape, self.weight, y_grad, **self.geometry)


def _refuse_too_few(comm: Communicator, channels: int, kind: str) -> None:
    if channels < comm.world_size:
        raise ValueError(f"{comm.world_size} ranks cannot share {channels} {kind} channels")
