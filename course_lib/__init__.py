"""Distributed training, run for real: write an algorithm once, run it simulated, on processes, or on a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from course_lib.comm import *

# Looked up when first used, so that the command line answers before torch is loaded.
__all__ = [
    "CommError",
    "Communicator",
    "DeadlockError",
    "Group",
    "Link",
    "Message",
    "MismatchError",
    "Network",
    "RankDiedError",
    "RankError",
    "RankTimeoutError",
    "Report",
    "Span",
    "Trace",
    "TransportError",
    "UnmatchedError",
    "Work",
    "run",
    "simulate",
    "warm_up",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from course_lib import comm

    return getattr(comm, name)
