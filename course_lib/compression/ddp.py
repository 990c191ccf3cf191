"""The same all-reduces under PyTorch's own DistributedDataParallel."""

from __future__ import annotations

from collections.abc import Callable

import torch

from course_lib.collectives import ring_all_reduce
from course_lib.comm import Communicator
from course_lib.data_parallel.buckets import numbered

__all__ = ["ddp_hook"]


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
