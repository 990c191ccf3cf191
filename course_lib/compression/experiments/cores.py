"""Trainings that know nothing of each other, dealt out to the machine's cores."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from course_lib.comm import Communicator, run

__all__ = ["on_all_cores"]

T = TypeVar("T")


def on_all_cores(function: Callable[..., T], jobs: Sequence[tuple[Any, ...]], timeout_s: float = 900.0) -> list[T]:
    """What `function(*job)` gives for each job, in their order; each core takes its share of them in a process.

    >>> on_all_cores(pow, [(2, 3), (3, 2), (5, 1)])
    [8, 9, 5]
    """
    cores = min(len(jobs), os.cpu_count() or 1)
    if cores < 2:
        return [function(*job) for job in jobs]
    shares = run(_share, cores, args=(function, list(jobs)), timeout_s=timeout_s).results
    return [shares[place % cores][place // cores] for place in range(len(jobs))]


def _share(comm: Communicator, function: Callable[..., T], jobs: list[tuple[Any, ...]]) -> list[T]:
    return [function(*job) for job in jobs[comm.rank :: comm.world_size]]
