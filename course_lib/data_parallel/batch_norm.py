"""Batch normalization over the joined batch: one all-reduce in the forward pass and one in the backward pass.

    forward    each rank  [sum x | sum x² | count]   all-reduce   mean and variance of the joined batch
    backward   each rank  [sum g | sum g x̂]          all-reduce   what every g does to the others through them

g is the gradient that arrives from above, x̂ the normalized input; sums run over examples and positions, not channels.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.autograd.function import once_differentiable
from torch.nn.modules.batchnorm import _BatchNorm

from course_lib.collectives import ring_all_reduce
from course_lib.comm import Communicator
from course_lib.comm.collective import all_reduce_named


class SyncBatchNorm(_BatchNorm):
    """Batch normalization of [N, C] or [N, C, *] with the statistics of all ranks' parts together.

    Output, running statistics and gradients are those of `nn.BatchNorm1d` (2d, 3d) on the joined batch; parts may
    differ in length, and some may be empty. In evaluation it is that module and sends nothing.

    The backward pass differentiates the *sum* of all ranks' losses, for a rank's input moves everybody's output. With
    parts of unequal length each rank must therefore weigh its loss before the backward pass, `loss * share *
    world_size`, and average as if parts were equal; to weigh finished gradients is too late.

    Invariant: every rank must call it equally often in both directions, in the same mode.

    Raises:
        ValueError: on every rank, if the joined batch has fewer than two values in a channel.

    Cost: an all-reduce of 2C + 1 float64 forward, one of 2C backward.
    Source: S. Ioffe and C. Szegedy, "Batch normalization", ICML 2015, for the formulas of one machine.
    """

    def __init__(
        self,
        comm: Communicator,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        *,
        all_reduce: Callable[..., None] = ring_all_reduce,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats)
        self._comm, self._all_reduce = comm, all_reduce

    def _check_input_dim(self, inputs: torch.Tensor) -> None:
        if inputs.dim() < 2 or inputs.shape[1] != self.num_features:
            channels = self.num_features
            raise ValueError(f"inputs must be [N, {channels}] or [N, {channels}, *], got {list(inputs.shape)}")

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:  # [N, C, *] -> [N, C, *]
        """The inputs normalized; in training with the joined batch's statistics, which the running ones then follow."""
        if not self.training:
            return super().forward(inputs)
        self._check_input_dim(inputs)
        mean, variance, count = self._joined_statistics(inputs.detach())
        if self.running_mean is not None:
            self._follow(mean, variance * count / (count - 1))
        inverse = (variance + self.eps).rsqrt()
        normalized = _Normalize.apply(inputs, mean, inverse, count, self._sum_over_ranks)
        if self.weight is None:
            return normalized
        scaled = normalized * _by_channel(self.weight, inputs) + _by_channel(self.bias, inputs)
        return scaled.to(inputs.dtype)

    def _joined_statistics(self, inputs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, float]:
        """Mean and biased variance [C] of all ranks' values, in float64, and how many each is of.

        E[x²] - E[x]² subtracts two numbers of size mean² to find one of size variance: it loses as many digits as
        mean² / variance has. The square of a float32 is exact in float64, so 9 digits can be lost before the result
        is worse than float32 itself. To merge (mean, variance) pairs instead loses none, but they do not add up: each
        rank must get those of all others, world_size / 2 times the bytes of an all-reduce.
        """
        wide = inputs.double()
        sums = torch.cat([_sum(wide), _sum(wide * wide), wide.new_tensor([wide.numel() / self.num_features])])
        self._sum_over_ranks(sums)
        total = sums[: self.num_features]
        squares = sums[self.num_features : -1]
        count = sums[-1].item()
        if count < 2:
            raise ValueError(f"the joined batch must have two values or more in each channel, got {count:.0f}")
        mean = total / count
        return mean, (squares / count - mean * mean).clamp(min=0), count

    def _sum_over_ranks(self, sums: torch.Tensor) -> None:
        all_reduce_named(self._comm, self._all_reduce, sums, "SyncBatchNorm")

    def _follow(self, mean: torch.Tensor, unbiased_variance: torch.Tensor) -> None:
        """Move the running statistics towards these by `momentum`; momentum None keeps the mean of all so far."""
        self.num_batches_tracked.add_(1)
        weight = 1 / self.num_batches_tracked.item() if self.momentum is None else self.momentum
        for running, new in ((self.running_mean, mean), (self.running_var, unbiased_variance)):
            running.lerp_(new.to(running.dtype), weight)


class _Normalize(torch.autograd.Function):
    """(x - mean) / deviation, where mean and deviation depend on every rank's x."""

    @staticmethod
    def forward(
        ctx: Any,
        inputs: torch.Tensor,
        mean: torch.Tensor,
        inverse: torch.Tensor,
        count: float,
        sum_over_ranks: Callable[[torch.Tensor], None],
    ) -> torch.Tensor:
        normalized = ((inputs - _by_channel(mean, inputs)) * _by_channel(inverse, inputs)).to(inputs.dtype)
        ctx.save_for_backward(normalized, inverse)
        ctx.count, ctx.sum_over_ranks = count, sum_over_ranks
        return normalized

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[Any, ...]:
        """(g - mean of g - x̂ × mean of g x̂) / deviation, the means over the joined batch."""
        normalized, inverse = ctx.saved_tensors
        wide = gradient.double()
        sums = torch.cat([_sum(wide), _sum(wide * normalized)])
        ctx.sum_over_ranks(sums)
        shift, slope = (_by_channel(part, gradient) for part in (sums / ctx.count).chunk(2))
        inputs_gradient = (wide - shift - normalized * slope) * _by_channel(inverse, gradient)
        return inputs_gradient.to(gradient.dtype), None, None, None, None


def synchronize_batch_norm(comm: Communicator, module: nn.Module) -> nn.Module:
    """The module with every batch normalization in it replaced by a `SyncBatchNorm` of the same state, mode and hooks.

    In place, except where the module is itself a batch normalization.
    """
    if isinstance(module, _BatchNorm):
        settings = module.num_features, module.eps, module.momentum, module.affine, module.track_running_stats
        synchronized = SyncBatchNorm(comm, *settings)
        own = {"_comm": comm, "_all_reduce": synchronized._all_reduce}
        synchronized.__dict__ |= module.__dict__ | own  # parameters, buffers, hooks and mode
        return synchronized
    for name, child in module._modules.items():  # named_children() shows a child that has two names only once
        if child is not None:
            setattr(module, name, synchronize_batch_norm(comm, child))
    return module


def _sum(values: torch.Tensor) -> torch.Tensor:  # [N, C, *] -> [C]
    return values.sum([axis for axis in range(values.dim()) if axis != 1])


def _by_channel(values: torch.Tensor, like: torch.Tensor) -> torch.Tensor:  # [C] -> [1, C, 1, ...]
    return values.view(1, -1, *[1] * (like.dim() - 2))
