"""Deep gradient compression: top-k whose momentum is each rank's own, so that what waits does not miss it."""

from __future__ import annotations

import torch

from course_lib.comm import Communicator
from course_lib.compression.error_feedback import sum_of_messages
from course_lib.compression.rows import KeepsRows
from course_lib.compression.top_k import TopK

__all__ = ["WARM_UP_SPARSITY", "DeepGradientCompression", "warm_up"]

# The share of numbers that is left out in each of the first epochs, and from then on.
WARM_UP_SPARSITY = (0.75, 0.9375, 0.984375, 0.996, 0.999)


def warm_up(epoch: int) -> float:
    """The share of numbers that travel in an epoch, counted from 0.

    Raises:
        ValueError: if the epoch is less than 0.

    >>> [warm_up(epoch) for epoch in (0, 1, 4, 90)]
    [0.25, 0.0625, 0.001, 0.001]
    """
    if epoch < 0:
        raise ValueError(f"epoch must be 0 or more, got {epoch}")
    return round(1 - WARM_UP_SPARSITY[min(epoch, len(WARM_UP_SPARSITY) - 1)], 12)


class DeepGradientCompression(KeepsRows):
    """An `all_reduce` for `DataParallel`; the optimizer behind it is SGD *without* momentum, which is in here.

    A number that waits for its turn gathers velocity u = m u + g, as it would in the optimizer, and v adds up the
    velocities: momentum correction. What was sent starts anew in both: momentum factor masking.

    Attributes:
        share: of the numbers that travel; set it from epoch to epoch by `warm_up`.

    Source: Y. Lin et al., "Deep gradient compression", ICLR 2018, sections 3.1 to 3.3 (local gradient clipping is left
    out).
    """

    tables = ("residuals", "velocities")

    def __init__(self, momentum: float = 0.9, share: float = 0.001) -> None:
        super().__init__()
        self.momentum, self.share = momentum, share
        self.velocities: dict[int, torch.Tensor] = {}

    def __call__(self, comm: Communicator, row: torch.Tensor) -> None:
        """Leave in `row` the sum of what all ranks sent, the same bits on every rank."""
        number = self.number(row)
        flat = row.detach().view(-1)
        top = TopK(self.share)
        u = self.kept(self.velocities, number, flat) * self.momentum + flat
        v = self.kept(self.residuals, number, flat) + u
        message = top.compress(v)
        sent = top.decompress(message, len(flat)) != 0
        u.masked_fill_(sent, 0)
        v.masked_fill_(sent, 0)
        flat.copy_(sum_of_messages(comm, top, message, len(flat)))
        self.keep_if_finite(flat, number, velocities=u, residuals=v)
