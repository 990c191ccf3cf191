"""Weights twice: 16 bits to compute with, and a master copy in fp32 that gathers the updates.

    16 bits   weights ── forward, backward ─▶ gradients
                 ▲                                │
               round                            widen
                 │                                ▼
    fp32      master weights ◀── optimizer ── gradients

Source: P. Micikevicius et al., "Mixed precision training", arXiv 1710.03740, 2017, section 3.1.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn
from torch.nn.modules.batchnorm import _NormBase

from course_lib.comm.gradient_parts import groups_of, mark_part
from course_lib.precision.formats import BF16, FP16
from course_lib.precision.rounding import round_stochastic

__all__ = ["KEPT_IN_FP32", "MasterWeights", "round_model", "stochastic_rounding"]

# Layers that add many numbers up: their statistics, and so the layers themselves, stay in fp32.
# _NormBase: all batch and instance normalizations.
KEPT_IN_FP32 = (nn.LayerNorm, nn.RMSNorm, nn.GroupNorm, _NormBase)
_FORMATS = {torch.float16: FP16, torch.bfloat16: BF16}


def round_model(model: nn.Module, dtype: torch.dtype) -> None:
    """Give the model parameters and buffers of 16 bits, all but its normalizations, which widen what comes and round
    what goes. Buffers of whole numbers stay as they are.
    """
    for module in model.modules():
        if isinstance(module, KEPT_IN_FP32):
            module.register_forward_pre_hook(lambda _, inputs: tuple(x.float() for x in inputs))
            module.register_forward_hook(lambda _, inputs, output: output.to(dtype))
        else:
            for parameter in module.parameters(recurse=False):
                parameter.data = parameter.data.to(dtype)
            for name, buffer in module.named_buffers(recurse=False):
                module._buffers[name] = buffer.to(dtype) if buffer.is_floating_point() else buffer


class MasterWeights:
    """A model in 16 bits, and its parameters in fp32, which are what an optimizer is given.

    With Adam a parameter takes 16 bytes: 2 + 2 in the model, 4 here and 8 in the optimizer. While that works, the
    widened gradient stands in the place of the model's, 18 in all; `optimizer.zero_grad()` frees it (see `mixed_step`).

    Args:
        model: an fp32 model; from now on it computes in `dtype`. One that was rounded before is widened.
        keep: the master copy lives from step to step. Without it each update begins from the rounded weights.
        rounding: fp32 weights -> the same in 16 bits; None: to the nearest.
    """

    def __init__(
        self,
        model: nn.Module,
        dtype: torch.dtype = torch.float16,
        *,
        keep: bool = True,
        rounding: Callable[[torch.Tensor], torch.Tensor] | None = None,
    ) -> None:
        self.keep, self.rounding = keep, rounding
        self.parameters = [parameter.detach().float().clone() for parameter in model.parameters()]
        round_model(model, dtype)
        self.rounded = list(model.parameters())

    def take_gradients(self) -> list[torch.Tensor]:
        """Move the model's gradients, widened, to the master copy; the model has none afterwards."""
        for master, rounded in zip(self.parameters, self.rounded, strict=True):
            master.grad = None if rounded.grad is None else rounded.grad.float()
            mark_part(master.grad, groups_of([rounded, rounded.grad]))
            rounded.grad = None
        return [master.grad for master in self.parameters if master.grad is not None]

    def round_back(self) -> None:
        """Give the model the updated weights, rounded."""
        with torch.no_grad():
            for master, rounded in zip(self.parameters, self.rounded, strict=True):
                rounded.copy_(self.rounding(master) if self.rounding else master)
                if not self.keep:
                    master.copy_(rounded)


def stochastic_rounding(dtype: torch.dtype, seed: int = 0) -> Callable[[torch.Tensor], torch.Tensor]:
    """A `rounding` that goes up or down by chance, with draws of its own."""
    generator = torch.Generator().manual_seed(seed)

    def rounded(weights: torch.Tensor) -> torch.Tensor:
        draws = torch.rand(weights.shape, generator=generator).to(weights.device)
        return round_stochastic(weights, _FORMATS[dtype], draws).to(dtype)

    return rounded
