"""A scale that is there before the tensor is: what was largest in the last steps decides.

current    tensor ─▶ read it all: the largest ─▶ read it again: scale, round ─▶ 8 bits
delayed    tensor ─▶ read it once: scale, round ─▶ 8 bits
                         ▲               └─▶ its largest, for the steps to come
             the largest of the last steps

Source: NVIDIA Transformer Engine, recipe `DelayedScaling` (there 1,024 steps, if nothing else is said).
"""

from __future__ import annotations

from collections import deque

import torch

from course_lib.precision.fp8 import Scaled, in_fp8, magnitude

__all__ = ["DelayedScale"]


class DelayedScale:
    """`in_fp8` for the same tensor of each step, by the largest magnitude of the last steps.

    The first tensor has no step before it, and goes by its own. A magnitude that is no finite number is not remembered.

    Raises:
        ValueError: unless it remembers a step or more.

    >>> scaled, usual = DelayedScale(history=2), torch.tensor([1.0])
    >>> [scaled(x).widened().item() for x in (usual, 900 * usual, usual)]  # the second is cut off
    [1.0, 1.75, 1.0]
    """

    def __init__(self, history: int = 16) -> None:
        if history < 1:
            raise ValueError(f"a scale must remember 1 step or more, got {history}")
        self.magnitudes: deque[torch.Tensor] = deque(maxlen=history)

    def __call__(self, tensor: torch.Tensor, dtype: torch.dtype = torch.float8_e4m3fn) -> Scaled:
        largest = max(self.magnitudes, default=None)
        own = magnitude(tensor)
        if own.isfinite():
            self.magnitudes.append(own)
        return in_fp8(tensor, dtype, largest)
