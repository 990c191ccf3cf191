"""Linear layers of which each rank holds a part, made from a whole one.

Column-parallel: rows of torch's weight (columns of its transpose), so a part of the outputs. Row-parallel: a part of
the inputs. One behind the other they need no message in between.
"""

from __future__ import annotations

import torch
from torch import nn
from torch.nn.functional import linear

from course_lib.comm import Communicator
from course_lib.comm.gradient_parts import mark_gradients_of
from course_lib.tensor_parallel.operators import copy_to_ranks, gather_sequence, scatter_sequence, sum_over_ranks

__all__ = ["ColumnParallelLinear", "RowParallelLinear", "part_of"]


def part_of(comm: Communicator, whole: torch.Tensor, dim: int) -> nn.Parameter:
    """This rank's part of a parameter, as a parameter of its own, which is frozen if the whole one is.

    Raises:
        ValueError: unless the ranks divide it.
    """
    if whole.shape[dim] % comm.world_size:
        raise ValueError(f"{comm.world_size} ranks must divide {tuple(whole.shape)} along dimension {dim}")
    part = nn.Parameter(whole.detach().chunk(comm.world_size, dim)[comm.rank].clone(), whole.requires_grad)
    mark_gradients_of([part], comm)
    return part


class ColumnParallelLinear(nn.Module):
    """Some of the outputs of a layer. Takes x whole, or, with `sequence_parallel`, this rank's part of the sequence."""

    def __init__(self, comm: Communicator, whole: nn.Linear, sequence_parallel: bool = False) -> None:
        super().__init__()
        self.comm, self.enter = comm, gather_sequence if sequence_parallel else copy_to_ranks
        self.weight = part_of(comm, whole.weight, 0)
        self.bias = None if whole.bias is None else part_of(comm, whole.bias, 0)

    def forward(self, x: torch.Tensor) -> torch.Tensor:  # [b, t, inputs] -> [b, t, outputs / p]
        """f, then this rank's outputs."""
        mark_gradients_of(self.parameters(), self.comm)
        return linear(self.enter(self.comm, x), self.weight, self.bias)


class RowParallelLinear(nn.Module):
    """All outputs of a layer from some of its inputs, summed over ranks; the bias is whole and added after the sum.

    With `sequence_parallel` each rank gets its part of the sequence of the sum.
    """

    def __init__(self, comm: Communicator, whole: nn.Linear, sequence_parallel: bool = False) -> None:
        super().__init__()
        self.comm, self.leave = comm, scatter_sequence if sequence_parallel else sum_over_ranks
        self.weight = part_of(comm, whole.weight, 1)
        self.bias = None if whole.bias is None else nn.Parameter(whole.bias.detach().clone(), whole.bias.requires_grad)

    def forward(self, x: torch.Tensor) -> torch.Tensor:  # [b, t, inputs / p] -> [b, t, outputs]
        """This rank's addend, then g, then the bias."""
        mark_gradients_of([self.weight], self.comm)
        y = self.leave(self.comm, linear(x, self.weight))
        return y if self.bias is None else y + self.bias
