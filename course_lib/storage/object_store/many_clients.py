"""Many client processes that read from one store."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from course_lib.comm import Communicator, run
from course_lib.storage.object_store.backoff import Backoff
from course_lib.storage.object_store.client import StoreClient, StoreError
from course_lib.storage.object_store.request_log import Request

__all__ = ["load", "read_share"]


def load(
    url: str, names: Sequence[str], clients: int, backoff: Backoff | None = None, *, timeout_s: float = 5.0
) -> list[list[Request]]:
    """Each client's tries when `clients` processes read the objects, each its share, one request after the other."""
    return run(read_share, clients, args=(url, list(names), backoff, timeout_s)).results


def read_share(
    comm: Communicator, url: str, names: Sequence[str], backoff: Backoff | None, timeout_s: float
) -> list[Request]:
    """Every world_size-th object is read by this rank. What cannot be read is on record as a try that failed."""
    with StoreClient(url, backoff, timeout_s=timeout_s, seed=comm.rank) as client:
        comm.barrier()
        for name in names[comm.rank :: comm.world_size]:
            with contextlib.suppress(StoreError):
                client.get(name)
    return client.tries
