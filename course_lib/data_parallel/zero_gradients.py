"""ZeRO, stage 2: a unit's gradient goes to its owners as soon as backward has made it, and is freed.

backward  ▕ unit 2 ▏ reduce-scatter ▕ unit 1 ▏ reduce-scatter ▕ unit 0 ▏ reduce-scatter ▏ step
whole gradients held      1 unit                   1 unit                    1 unit        none
"""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch.autograd import Variable

from course_lib.data_parallel.zero_optimizer import ShardedOptimizer
from course_lib.data_parallel.zero_unit import Unit

__all__ = ["ShardedGradients"]


class ShardedGradients(ShardedOptimizer):
    """Stage 2: as stage 1, with the gradients sharded too.

    Each parameter's hook, called when its gradient is complete, looks whether its unit's are. Units are reduced in one
    order on all ranks, from the last to the first: one that is complete early waits for those after it. So each
    backward pass communicates, also one that only accumulates gradients; stage 1 sends once, in `step`.

    Cost: as for stage 1.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._unreduced = self.units[::-1]
        self._in_backward = False
        for unit in self.units:
            for parameter in unit.parameters:
                parameter.register_post_accumulate_grad_hook(partial(self._gradient_is_complete, unit))

    def reduce_gradients(self) -> None:
        """Nothing is left to do: the backward pass has reduced them."""

    def finish(self) -> None:
        """Reduce what the backward pass left over, zeros where a gradient is missing.

        The backward pass calls it at its end. A rank that has no backward pass to make, or whose backward pass ended
        with an error, must call it itself.
        """
        while self._unreduced:
            self._reduce(self._unreduced.pop(0))
        self._unreduced, self._in_backward = self.units[::-1], False
        self.watch("backward")

    def _gradient_is_complete(self, unit: Unit, parameter: torch.Tensor) -> None:
        """A parameter's hook."""
        if unit not in self._unreduced:
            raise RuntimeError(
                f"{unit.name} got a second gradient in one backward pass, after the first was reduced: with "
                "checkpoint(), say use_reentrant=False; after a pass that ended with an error, call finish()"
            )
        if not self._in_backward:
            self._in_backward = True
            Variable._execution_engine.queue_callback(self.finish)
        while self._unreduced and self._unreduced[0].has_all_gradients:
            self._reduce(self._unreduced.pop(0))

    def _reduce(self, unit: Unit) -> None:
        """Hand a unit's gradient to its owners."""
        unit.reduce_gradients(self.share, self.watch)
