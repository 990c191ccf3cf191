"""Counts the operations of a whole step: products, whoever asks for them, the second run of a checkpoint too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from torch.utils._python_dispatch import TorchDispatchMode

from course_lib.flops import flops_of

__all__ = ["CountedOperations"]


class CountedOperations(TorchDispatchMode):
    """How many additions and multiplications the products inside take: of matrices, convolutions and attention.

    Attention counts on a processor too, where PyTorch's counter leaves it out. Elementwise operations count as none.

    >>> import torch
    >>> with CountedOperations() as counted:
    ...     y = torch.ones(2, 3) @ torch.ones(3, 4) + 1
    >>> counted.operations
    48
    """

    def __init__(self) -> None:
        super().__init__()
        self.operations = 0

    def __torch_dispatch__(
        self,
        function: Callable[..., Any],
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[Any, Any] | None = None,
    ) -> Any:
        """Do an operation, and count it if it is a product."""
        result = function(*args, **(kwargs or {}))
        flops = flops_of(function, args, kwargs or {}, result)
        self.operations += flops.number if flops.kind == "product" else 0
        return result
