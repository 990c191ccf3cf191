"""What a unit's parameters are while the unit is freed: empty, and in words where somebody computes with them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import nn

__all__ = ["USED_OUTSIDE", "FreedParameter"]

_LOOKS = {torch.Tensor.detach, torch.Tensor.requires_grad_, torch.Tensor.zero_, torch.Tensor.detach_}


class FreedParameter(nn.Parameter):
    """A parameter's class as long as its numbers lie in shards. It may be looked at, cleared and copied."""

    @classmethod
    def __torch_function__(
        cls,
        function: Callable[..., Any],
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """What plain torch makes of it, unless that is computed from its numbers.

        Raises:
            RuntimeError: where it is: a sum of no numbers would be 0, and no error.
        """
        name = getattr(function, "__name__", "")
        with torch._C.DisableTorchFunctionSubclass():
            if name in ("__get__", "__set__", "__delete__") or function in _LOOKS:
                return function(*args, **(kwargs or {}))
            try:
                result = function(*args, **(kwargs or {}))
            except RuntimeError as error:
                raise RuntimeError(USED_OUTSIDE) from error
        if isinstance(result, torch.Tensor):
            raise RuntimeError(USED_OUTSIDE)
        return result


USED_OUTSIDE = (
    "a parameter is used outside of the forward pass of its unit, where ZeRO's stage 3 has freed it: compute with it "
    "in the forward method of its own module, shard all that use it as one unit, or read it, without gradients, "
    "inside sharded.whole()"
)
