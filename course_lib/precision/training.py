"""One step of training in mixed precision."""

from __future__ import annotations

from collections.abc import Callable

import torch

from course_lib.comm import Communicator
from course_lib.precision.loss_scaling import DynamicScaler, StaticScaler, unscale
from course_lib.precision.master_weights import MasterWeights

__all__ = ["mixed_step"]


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
