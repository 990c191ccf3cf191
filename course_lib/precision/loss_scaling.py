"""Loss scaling: multiply the loss, so that small gradients do not become 0 in 16 bits, and divide before they are used.

    loss × scale ── backward ─▶ gradients × scale ── all finite? ── yes ─▶ ÷ scale ─▶ update the weights
                                                                 └─ no  ─▶ skip this step

Source: P. Micikevicius et al., "Mixed precision training", arXiv 1710.03740, 2017, section 3.2.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import torch

__all__ = ["DynamicScaler", "StaticScaler", "unscale"]

_FP32_LARGEST = torch.finfo(torch.float32).max


def unscale(gradients: Iterable[torch.Tensor], scale: float) -> bool:
    """Divide the gradients by the scale, in place, and say whether all of them are finite.

    One answer for all of them: on a GPU each answer that the processor reads is a wait.
    """
    gradients = list(gradients)
    for gradient in gradients:
        gradient.div_(scale)
    return not gradients or bool(torch.stack([gradient.isfinite().all() for gradient in gradients]).all())


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
        """Halve after an overflow; double after enough good steps in a row, though never beyond fp32."""
        self.good_steps = self.good_steps + 1 if finite else 0
        if not finite:
            self.scale /= 2
        elif self.good_steps == self.growth_interval:
            self.good_steps = 0
            self.scale = self.scale * 2 if self.scale * 2 <= _FP32_LARGEST else self.scale


def _check(scale: float, growth_interval: int = 1) -> None:
    if not (0 < scale <= _FP32_LARGEST and growth_interval >= 1):
        rule = "a scale must be more than 0, fit into fp32 and grow after 1 step or more"
        raise ValueError(f"{rule}, got {scale} and {growth_interval}")
