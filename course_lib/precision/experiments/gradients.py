"""The digits' gradients as many ranks would have them, without the ranks."""

from __future__ import annotations

import torch
from torch.nn import functional

from course_lib.tasks import digit_batches, digits_model

__all__ = ["gradients_of_ranks"]


def gradients_of_ranks(ranks: int, batch_size: int = 8, seed: int = 1) -> torch.Tensor:  # [ranks, parameters]
    """Each rank's gradient of the network's first weights, of a batch of its own."""
    model, rows = digits_model(), []
    for rank in range(ranks):
        inputs, labels = next(digit_batches(batch_size, rank=rank, seed=seed))
        loss = functional.cross_entropy(model(inputs), labels)
        rows.append(torch.cat([part.flatten() for part in torch.autograd.grad(loss, list(model.parameters()))]))
    return torch.stack(rows)
