"""One layer on several ranks: fully connected, split by examples, by outputs or by inputs; a convolution by channels.

The layer is y = x Wᵀ + b, as in torch: x is [batch, inputs], W is [outputs, inputs], y is [batch, outputs].

    by examples            by outputs              by inputs
    x₀ │ W   whole         x  │ W₀  rows of W      x₀ x₁ │ W₀ W₁  columns of W
    x₁ │                      │ W₁
    y₀, y₁ lie apart       y₀ y₁ side by side      y = sum of what each rank has

Every class keeps its own part of the parameters. `forward` keeps what `backward` will need; `backward` takes the
gradient of what `forward` gave, leaves the gradients of the parameters in `weight_grad` and `bias_grad`, and
returns the gradient of what `forward` took.

A convolution splits by channels in the same way, with pictures instead of numbers. Split by output channels every rank
needs the whole input picture; split by input channels the ranks' outputs are summed. Weights are small and pictures are
large, so here the splits move far more than data parallelism.
"""

from __future__ import annotations

import torch
from torch.nn.functional import conv2d
from torch.nn.grad import conv2d_input, conv2d_weight

from course_lib.collectives import ring_all_reduce
from course_lib.comm import Communicator
from course_lib.model_parallel.layouts import own_part


class ExampleSplitLinear:
    """Data parallelism: the whole layer on every rank, and of each batch a part.

    Gradients are sums over the joined batch, so the loss must be a sum, or a mean over all ranks' examples.
    """

    def __init__(self, comm: Communicator, weight: torch.Tensor, bias: torch.Tensor) -> None:
        self.comm = comm
        self.weight, self.bias = weight.clone(), bias.clone()

    def forward(self, x: torch.Tensor) -> torch.Tensor:  # [batch of this rank, inputs] -> [batch of this rank, outputs]
        """Nothing crosses."""
        self.x = x
        return x @ self.weight.T + self.bias

    def backward(self, y_grad: torch.Tensor) -> torch.Tensor:
        """The gradients of all parameters cross: an all-reduce of outputs × (inputs + 1) numbers."""
        self.weight_grad, self.bias_grad = y_grad.T @ self.x, y_grad.sum(0)
        ring_all_reduce(self.comm, self.weight_grad)
        ring_all_reduce(self.comm, self.bias_grad)
        return y_grad @ self.weight


class OutputSplitLinear:
    """Every rank owns some of the outputs: rows of the weight, and their biases. The input is whole on every rank."""

    def __init__(self, comm: Communicator, weight: torch.Tensor, bias: torch.Tensor) -> None:
        self.comm = comm
        self.weight = weight.tensor_split(comm.world_size)[comm.rank].clone()
        self.bias = bias.tensor_split(comm.world_size)[comm.rank].clone()

    def forward(self, x: torch.Tensor) -> torch.Tensor:  # [batch, inputs] -> [batch, outputs of this rank]
        """Nothing crosses."""
        self.x = x
        return x @ self.weight.T + self.bias

    def backward(self, y_grad: torch.Tensor) -> torch.Tensor:  # [batch, outputs of this rank] -> [batch, inputs]
        """Every input fed all outputs, so its gradient is a sum over ranks: an all-reduce of batch × inputs numbers."""
        self.weight_grad, self.bias_grad = y_grad.T @ self.x, y_grad.sum(0)
        x_grad = y_grad @ self.weight
        ring_all_reduce(self.comm, x_grad)
        return x_grad


class InputSplitLinear:
    """Every rank owns some of the inputs: columns of the weight. The bias is whole on every rank and added once."""

    def __init__(self, comm: Communicator, weight: torch.Tensor, bias: torch.Tensor) -> None:
        self.comm = comm
        self.weight = weight.tensor_split(comm.world_size, dim=1)[comm.rank].clone()
        self.bias = bias.clone()

    def forward(self, x: torch.Tensor) -> torch.Tensor:  # [batch, inputs of this rank] -> [batch, outputs]
        """Every output is a sum over all inputs: an all-reduce of batch × outputs numbers, and only then the bias."""
        self.x = x
        y = x @ self.weight.T
        ring_all_reduce(self.comm, y)
        return y + self.bias

    def backward(self, y_grad: torch.Tensor) -> torch.Tensor:  # [batch, outputs] -> [batch, inputs of this rank]
        """Nothing crosses."""
        self.weight_grad, self.bias_grad = y_grad.T @ self.x, y_grad.sum(0)
        return y_grad @ self.weight


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
