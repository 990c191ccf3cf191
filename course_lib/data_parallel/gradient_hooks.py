"""Hooks on gradients: what to do when one is complete, and what to do when the backward pass is over."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import torch
from torch.autograd import Variable

__all__ = ["GradientHooks"]


class GradientHooks:
    """Calls `take(number)` when a parameter's gradient is complete, and `finish()` once at the end of that pass.

    Attributes:
        in_backward: True from a pass's first gradient until you set it False, in `finish`. A pass that ends with an
            error leaves it True, for PyTorch then calls no `finish`.
        silent: while it is True nothing is called.
    """

    def __init__(
        self, parameters: Sequence[torch.Tensor], take: Callable[[int], None], finish: Callable[[], None]
    ) -> None:
        self.in_backward, self.silent = False, False
        self._take, self._finish = take, finish
        for number, parameter in enumerate(parameters):
            parameter.register_post_accumulate_grad_hook(partial(self._complete, number))

    def _complete(self, number: int, parameter: torch.Tensor) -> None:
        if self.silent:
            return
        if not self.in_backward:
            self.in_backward = True
            Variable._execution_engine.queue_callback(self._finish)
        self._take(number)
