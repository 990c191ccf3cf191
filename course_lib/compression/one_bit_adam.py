"""Adam whose momentum travels in one bit a number, once its variance stands still."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from course_lib.collectives import ring_all_reduce
from course_lib.comm import Communicator
from course_lib.compression.compressed_sums import CompressedSums
from course_lib.compression.compressors import OneBit


class OneBitAdam:
    """Adam over ranks: `warm_up_steps` of it by gradients in fp32; then each adds its own gradient to the momentum.

    From then on the variance stays as it is, and momentum is averaged in one bit. What never had a gradient has a
    variance of 0 and stays where it is: one bit knows no zero, and over a variance of 0 any step would be too long. A
    parameter that has no gradient in one step counts as one of zeros there. Unscale gradients before.

    Attributes:
        momentum, variance: means of gradients and of their squares, alike on all ranks, each in one row.
        steps: taken so far.

    Cost: a step sends the gradients, as a ring does, or a 32nd of them and 8 bytes a message.
    Source: H. Tang et al., "1-bit Adam: communication efficient large-scale training with Adam's convergence speed",
    ICML 2021, algorithm 1; here with Adam's correction of both means for their first steps.
    """

    def __init__(
        self,
        module: nn.Module,
        *,
        warm_up_steps: int,
        rate: float = 0.001,
        betas: tuple[float, float] = (0.9, 0.999),
        all_reduce: Callable[..., None] = ring_all_reduce,
    ) -> None:
        """Begin at the module's parameters, which must be the same on all ranks.

        Args:
            all_reduce: of the gradients, in the warm-up.

        Raises:
            ValueError: if warm_up_steps is less than 1: a variance of no gradient is 0.
        """
        if warm_up_steps < 1:
            raise ValueError(f"warm_up_steps must be at least 1, got {warm_up_steps}")
        self.module, self.warm_up_steps = module, warm_up_steps
        self.rate, self.betas = rate, betas
        self.in_full, self.in_one_bit = all_reduce, CompressedSums(OneBit())
        self.momentum = torch.zeros_like(parameters_to_vector(module.parameters())).detach()
        self.variance, self.steps = torch.zeros_like(self.momentum), 0
        self.gradient = torch.empty_like(self.momentum)  # the same memory in each step, as compressors want it

    def __call__(self, comm: Communicator) -> bool:
        """One step by the gradients that a backward pass left; the same new parameters on every rank.

        Returns whether it was taken. Where any rank's gradients overflowed, all ranks stay as they were.
        """
        torch.cat(_gradients(self.module), out=self.gradient)
        early, late = self.betas
        warms_up = self.steps < self.warm_up_steps
        if warms_up:
            self.in_full(comm, self.gradient.div_(comm.world_size))
        else:
            torch.lerp(self.momentum, self.gradient, 1 - early, out=self.gradient)
            self.in_one_bit(comm, self.gradient.div_(comm.world_size))
        if not self.gradient.isfinite().all():
            return False
        self.momentum.lerp_(self.gradient, 1 - early if warms_up else 1)
        if warms_up:
            self.variance.lerp_(self.gradient**2, 1 - late)
        self.steps += 1
        mean = self.momentum / (1 - early**self.steps)
        size = (self.variance / (1 - late ** min(self.steps, self.warm_up_steps))).sqrt() + 1e-8
        step = torch.where(self.variance > 0, self.rate * mean / size, 0)
        vector_to_parameters(parameters_to_vector(self.module.parameters()).detach() - step, self.module.parameters())
        return True


def _gradients(module: nn.Module) -> list[torch.Tensor]:
    """The gradient of each parameter in one row; zeros for one that has none, as a frozen or unused one."""
    return [torch.zeros_like(p).flatten() if p.grad is None else p.grad.flatten() for p in module.parameters()]
