"""One fully connected layer on several ranks: split by examples, by outputs, or by inputs.

The layer is y = x Wᵀ + b, as in torch: x is [batch, inputs], W is [outputs, inputs], y is [batch, outputs].

    by examples            by outputs              by inputs
    x₀ │ W   whole         x  │ W₀  rows of W      x₀ x₁ │ W₀ W₁  columns of W
    x₁ │                      │ W₁
    y₀, y₁ lie apart       y₀ y₁ side by side      y = sum of what each rank has

Every class keeps its own part of the parameters. `forward` keeps what `backward` will need; `backward` takes the
gradient of what `forward` gave, leaves the gradients of the parameters in `weight_grad` and `bias_grad`, and
returns the gradient of what `forward` took.
"""

from __future__ import annotations

import torch

from course_lib.collectives import ring_all_reduce
from course_lib.comm import Communicator

__all__ = ["ExampleSplitLinear", "InputSplitLinear", "OutputSplitLinear"]


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
