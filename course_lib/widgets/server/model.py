"""What the server explorer computes: one short training on simulated ranks for each position of its controls."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import NamedTuple

import torch

from course_lib.parameter_server import (
    FULL_WEIGHT,
    Policy,
    StalenessWeight,
    asynchronous,
    decay,
    drop_older_than,
    inverse_staleness,
    softsync,
    stale_synchronous,
    synchronous,
)
from course_lib.parameter_server.experiments import History, Speeds, train

__all__ = ["GRADIENTS", "POLICIES", "REMEDIES", "ServerSetting", "history_of", "policy_of"]

GRADIENTS = 72  # of all workers together, in each training
GRADIENT_S = 0.1

REMEDIES: dict[str, StalenessWeight] = {
    remedy.name: remedy for remedy in (FULL_WEIGHT, inverse_staleness(), decay(0.8), drop_older_than(4))
}


class ServerSetting(NamedTuple):
    """All that the explorer's controls say; workers up to `straggler` are slow, none if it is -1."""

    policy: str
    workers: int
    servers: int
    backup: int
    n: int
    slack: int
    spread: float
    straggler: int
    times_slower: float
    rate: float
    remedy: str


POLICIES: dict[str, Callable[[ServerSetting], Policy]] = {
    "synchronous": lambda s: synchronous(s.workers),
    "with backup workers": lambda s: synchronous(max(s.workers - s.backup, 1), min(s.backup, s.workers - 1)),
    "n-softsync": lambda s: softsync(s.workers, min(s.n, s.workers)),
    "bounded delay": lambda s: stale_synchronous(s.slack),
    "asynchronous": lambda s: asynchronous(),
}


def policy_of(setting: ServerSetting) -> Policy:
    """The policy that the controls describe; of `workers`, the backup workers are some."""
    return POLICIES[setting.policy](setting)


@functools.lru_cache(maxsize=64)
def history_of(setting: ServerSetting) -> History:
    """Softmax regression on digits until the servers have used GRADIENTS gradients."""
    policy = policy_of(setting)
    slower = dict.fromkeys(range(setting.straggler + 1), setting.times_slower)
    with _one_thread():
        return train(
            policy,
            workers=setting.workers,
            servers=setting.servers,
            speeds=Speeds(GRADIENT_S, setting.spread, slower),
            updates=max(GRADIENTS // policy.gradients_per_update, 2),
            rate=setting.rate,
            staleness_weight=REMEDIES[setting.remedy],
            points=18,
        )


@contextlib.contextmanager
def _one_thread() -> Iterator[None]:
    """Let PyTorch compute on one thread: on tensors as small as these, threads wait for one another, on a busy machine
    for long.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
