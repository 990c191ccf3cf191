"""Loss scaling: multiply the loss, so that small gradients do not become 0 in 16 bits, and divide before they are used.

    loss × scale ── backward ─▶ gradients × scale ── all finite? ── yes ─▶ ÷ scale ─▶ update the weights
                                                                 └─ no  ─▶ skip this step

Source: P. Micikevicius et al., "Mixed precision training", arXiv 1710.03740, 2017, section 3.2.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import torch

from course_lib.collectives import ring_all_reduce
from course_lib.comm import Communicator
from course_lib.comm.gradient_parts import groups_of

__all__ = ["DynamicScaler", "StaticScaler", "unscale"]

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
