"""An all-reduce of compressed rows that keeps what the compression left out, and adds it the next time.

        gradient ──▶ + ──▶ compress ──▶ message to all ranks ──▶ sum of what all messages stand for
                     ▲         │
                     └─ residual: what the message does not say ◀┘

Nothing is lost: what was sent and the residual together are the sum of all gradients so far. So each row must meet its
own residual again, wherever it lies the next time (`rows`). An overflow is no gradient, and nothing is kept of it.
"""

from __future__ import annotations

import torch

from course_lib.collectives import all_gather
from course_lib.comm import Communicator
from course_lib.compression.compressor import Compressor
from course_lib.compression.rows import KeepsRows

__all__ = ["CompressedAllReduce", "sum_of_messages"]


class CompressedAllReduce(KeepsRows):
    """Sums rows over all ranks by their compressed messages; an `all_reduce` for `DataParallel`.

    Messages cannot be added, so each travels to every rank: (p - 1) times its bytes from each of p ranks, where the
    ring sends 2(p - 1)/p times the row's. The gain shrinks as ranks are added.

    Attributes:
        residuals: what was left out of each row so far, by the row's number; empty without error feedback.

    Source: F. Seide et al., "1-bit stochastic gradient descent", Interspeech 2014; S. Karimireddy et al., "Error
    feedback fixes SignSGD and other gradient compression schemes", ICML 2019.
    """

    def __init__(self, compressor: Compressor, *, error_feedback: bool = True) -> None:
        super().__init__(remembers=error_feedback)
        self.compressor, self.error_feedback = compressor, error_feedback

    def __call__(self, comm: Communicator, row: torch.Tensor) -> None:
        """Leave in `row` the sum of what all ranks sent, the same bits on every rank."""
        number, flat = self.number(row), row.detach().view(-1)
        wanted = flat + self.kept(self.residuals, number, flat)
        message = self.compressor.compress(wanted)
        flat.copy_(sum_of_messages(comm, self.compressor, message, len(flat)))
        if self.error_feedback:
            left_out = wanted - self.compressor.decompress(message, len(flat))
            self.keep_if_finite(flat, number, residuals=left_out)


def sum_of_messages(comm: Communicator, compressor: Compressor, message: torch.Tensor, length: int) -> torch.Tensor:
    """The sum of the rows that all ranks' messages stand for, the same bits on every rank."""
    messages = [torch.empty_like(message) for _ in range(comm.world_size)]
    all_gather(comm, messages, message)
    total, *rows = (compressor.decompress(each, length) for each in messages)
    for row in rows:
        total += row
    return total
