"""Compressed rows that are added up on the way: each rank sums one part of the row, and sends the sum compressed again.

        part 0      part 1      part 2            every rank compresses each part, and sends it to whose it is
rank 0  ┌ sum ┐  ◀───────────────────────         rank r adds up all messages of part r, and its own residual
rank 1           ┌ sum ┐  ◀──────────────         the sum goes to all, compressed once more
rank 2                    ┌ sum ┐

A rank sends 2(p - 1)/p of one message in all, as a ring does of the row, however many ranks there are.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from course_lib.collectives import all_gather, all_to_all, ring_all_reduce
from course_lib.comm import Communicator
from course_lib.compression.compressors import Compressor
from course_lib.compression.rows import KeepsRows
from course_lib.data_parallel.averaging import numbered


class CompressedSums(KeepsRows):
    """Sums rows over all ranks, part by part, by compressed messages and compressed sums; both keep what they left out.

    Law: what arrived so far, all ranks' residuals and all their sums' residuals are together the sum of all rows.

    Attributes:
        residuals: what this rank left out of each row so far, by the row's number.
        sum_residuals: what it left out of the sums of its part, by the row's number.

    Source: F. Seide et al., "1-bit stochastic gradient descent", Interspeech 2014, section 3.3; H. Tang et al., "1-bit
    Adam", ICML 2021, section 5 (compressed all-reduce).
    """

    tables = ("residuals", "sum_residuals")

    def __init__(self, compressor: Compressor) -> None:
        super().__init__()
        self.compressor = compressor
        self.sum_residuals: dict[int, torch.Tensor] = {}

    def __call__(self, comm: Communicator, row: torch.Tensor) -> None:
        """Leave in `row` the sum of what all ranks sent, as it was sent on, the same bits on every rank."""
        number, flat = self.number(row), row.detach().view(-1)
        wanted = flat + self.kept(self.residuals, number, flat)
        parts, mine = wanted.tensor_split(comm.world_size), comm.rank
        messages = [self.compressor.compress(part) for part in parts]
        left_out = wanted - self._rows(messages, parts)
        arrived = [torch.empty_like(messages[mine]) for _ in parts]
        all_to_all(comm, arrived, messages)
        total = sum(self.compressor.decompress(message, len(parts[mine])) for message in arrived)
        total = total + self.kept(self.sum_residuals, number, parts[mine])
        message = self.compressor.compress(total)
        left_out_of_sum = total - self.compressor.decompress(message, len(total))
        all_gather(comm, messages, message)
        flat.copy_(self._rows(messages, parts))
        self.keep_if_finite(flat, number, residuals=left_out, sum_residuals=left_out_of_sum)

    def _rows(self, messages: list[torch.Tensor], parts: tuple[torch.Tensor, ...]) -> torch.Tensor:
        pairs = zip(messages, parts, strict=True)
        return torch.cat([self.compressor.decompress(message, len(part)) for message, part in pairs])


def ddp_hook(comm: Communicator, all_reduce: Callable[..., None]) -> Callable[..., torch.futures.Future[torch.Tensor]]:
    """A hook for `register_comm_hook(None, hook)` that averages DDP's buckets by one of our all-reduces.

    After the first backward pass DDP cuts its buckets anew, and what was kept for the old ones would be lost: so the
    first pass is averaged uncompressed. `PowerSGD` needs `gradient_as_bucket_view=True`, to see the matrices.
    """
    passes = 0

    def hook(_state, bucket):  # type: ignore[no-untyped-def]  # DDP refuses annotations that are strings
        nonlocal passes
        row = bucket.buffer()
        row /= comm.world_size
        (all_reduce if passes else ring_all_reduce)(comm, numbered(row, bucket.index()))
        passes += bucket.is_last()
        done: torch.futures.Future[torch.Tensor] = torch.futures.Future()
        done.set_result(row)
        return done

    return hook
