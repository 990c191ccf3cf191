"""Mixed-precision training: loss scaling, master weights in fp32, and a step with both.

    loss × scale ── backward ─▶ gradients × scale ── all finite? ── yes ─▶ ÷ scale ─▶ update the weights
                                                                 └─ no  ─▶ skip this step

Source: P. Micikevicius et al., "Mixed precision training", arXiv 1710.03740, 2017, section 3.2.

Weights are held twice, in 16 bits to compute with and in fp32 to gather the updates:

    16 bits   weights ── forward, backward ─▶ gradients
                 ▲                                │
               round                            widen
                 │                                ▼
    fp32      master weights ◀── optimizer ── gradients

Source: P. Micikevicius et al., "Mixed precision training", arXiv 1710.03740, 2017, section 3.1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import torch
from torch import nn
from torch.nn.modules.batchnorm import _NormBase

from course_lib.collectives import ring_all_reduce
from course_lib.comm import Communicator
from course_lib.comm.group import groups_of, mark_part
from course_lib.precision.formats import BF16, FP16, round_stochastic

_FP32_LARGEST = torch.finfo(torch.float32).max
_FP32_SMALLEST = torch.finfo(torch.float32).tiny  # below it numbers lose bits, and in the end they are 0


def unscale(gradients: Iterable[torch.Tensor], scale: float, comm: Communicator | None = None) -> bool:
    """Divide the gradients by the scale, in place, and say whether all of them are finite.

    One answer for all of them: on a GPU each answer that the processor reads is a wait. And one for all ranks that have
    parts of one model, for a step is skipped by all of them or by none. Gradients of the course's own parts (ZeRO's
    shards, a pipeline's stages, tensor-parallel layers, experts) know these ranks; of others, as of what
    `torch.autograd.grad` returns, say them as `comm`, and also where a rank has no gradient. All ranks must call it.

    Cost: one all-reduce of one number over each group of ranks that has parts.
    """
    gradients = list(gradients)
    for gradient in gradients:
        gradient.div_(scale)
    finite = not gradients or bool(torch.stack([gradient.isfinite().all() for gradient in gradients]).all())
    for group in groups_of(gradients) if comm is None else [comm]:
        overflows = torch.tensor([float(not finite)], device=gradients[0].device if gradients else group.device)
        ring_all_reduce(group, overflows, op="max", name="overflow")
        finite = not overflows.item()
    return finite


@dataclass
class StaticScaler:
    """One scale for all of the training; a step whose gradients overflow is skipped. A scale of 1: no scaling.

    Raises:
        ValueError: if the scale is not more than 0, or more than fp32 holds.
    """

    scale: float = 1.0

    def __post_init__(self) -> None:
        _check(self.scale)

    def update(self, finite: bool) -> None:
        """Nothing changes."""


@dataclass
class DynamicScaler:
    """A scale that looks for its own size: too large is noticed, too small is not.

    Args:
        growth_interval: after so many good steps in a row the scale doubles.

    Raises:
        ValueError: if the scale is not more than 0, or more than fp32 holds, or the interval less than 1.

    >>> scaler = DynamicScaler(scale=8, growth_interval=2)
    >>> for finite in (True, True, False, True):
    ...     scaler.update(finite)
    ...     print(scaler.scale)
    8
    16
    8.0
    8.0
    """

    scale: float = 2.0**16
    growth_interval: int = 2000
    good_steps: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        _check(self.scale, self.growth_interval)

    def update(self, finite: bool) -> None:
        """Halve after an overflow; double after enough good steps in a row. Neither leaves the normal range of fp32."""
        self.good_steps = self.good_steps + 1 if finite else 0
        if not finite:
            self.scale = max(self.scale / 2, min(self.scale, _FP32_SMALLEST))
        elif self.good_steps == self.growth_interval:
            self.good_steps = 0
            self.scale = self.scale * 2 if self.scale * 2 <= _FP32_LARGEST else self.scale


def _check(scale: float, growth_interval: int = 1) -> None:
    if not (0 < scale <= _FP32_LARGEST and growth_interval >= 1):
        rule = "a scale must be more than 0, fit into fp32 and grow after 1 step or more"
        raise ValueError(f"{rule}, got {scale} and {growth_interval}")


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


def mixed_step(
    master: MasterWeights,
    optimizer: torch.optim.Optimizer,
    scaler: DynamicScaler | StaticScaler,
    loss_of: Callable[[], torch.Tensor],
    comm: Communicator | None = None,
) -> tuple[float, bool]:
    """The loss, and whether the gradients were finite; if not, no weight has changed.

    Args:
        optimizer: one of `master.parameters`.
        loss_of: the model's loss on a batch, in fp32.
        comm: the ranks that have other parts of the model, where its gradients do not say that themselves (`unscale`).
    """
    loss = loss_of()
    (loss * scaler.scale).backward()
    finite = unscale(master.take_gradients(), scaler.scale, comm)
    if finite:
        optimizer.step()
        master.round_back()
    optimizer.zero_grad()
    scaler.update(finite)
    return loss.item(), finite
