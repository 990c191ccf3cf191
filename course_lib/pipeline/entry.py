"""Where a tensor of another stage enters a stage, and where its gradient comes out again."""

from __future__ import annotations

from typing import Any

import torch

__all__ = ["Entry"]


class Entry:
    """What arrived for a stage, and what the backward pass has to say about it.

    The stage gets a tensor that is no leaf, so that it may begin in place, as it may behind another layer.

    Attributes:
        door: what a backward pass needs as its input to come as far as here.
    """

    def __init__(self, arrived: torch.Tensor) -> None:
        self.arrived = arrived
        self.door = torch.zeros((), requires_grad=True)
        self._gradient: torch.Tensor | None = None

    def enter(self) -> torch.Tensor:
        """The tensor for the stage; its gradient will stay here."""
        return _Through.apply(self.door, self) if torch.is_grad_enabled() else self.arrived

    def take_gradient(self) -> torch.Tensor:
        """The gradient of what another stage gave, which waits for it: zeros where none of it was used."""
        gradient, self._gradient = self._gradient, None
        return torch.zeros_like(self.arrived) if gradient is None else gradient


class _Through(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, door: torch.Tensor, entry: Entry) -> torch.Tensor:
        ctx.entry = entry
        ctx.set_materialize_grads(False)
        return entry.arrived.detach()

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor | None) -> tuple[torch.Tensor, None]:
        ctx.entry._gradient = grads[0]
        return torch.zeros(()), None
