"""What the server explorer computes: one short training on simulated ranks for each position of its controls."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

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

__all__ = [
    "GRADIENTS",
    "GRADIENT_S",
    "POINTS",
    "POLICIES",
    "USED_BY",
    "WEIGHTS",
    "ServerSetting",
    "history_at",
    "policy_of",
]

GRADIENTS = 48  # of all workers together, in each training: as many as can be computed while a slider moves
POINTS = 12
GRADIENT_S = 0.1

WEIGHTS: dict[str, StalenessWeight] = {
    weight.name: weight for weight in (FULL_WEIGHT, inverse_staleness(), decay(0.8), drop_older_than(4))
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
    staleness_weight: str


POLICIES: dict[str, Callable[[ServerSetting], Policy]] = {
    "synchronous": lambda s: synchronous(s.workers),
    "with backup workers": lambda s: synchronous(max(s.workers - s.backup, 1), min(s.backup, s.workers - 1)),
    "n-softsync": lambda s: softsync(s.workers, min(s.n, s.workers)),
    "stale-synchronous": lambda s: stale_synchronous(s.slack),
    "asynchronous": lambda s: asynchronous(),
}

USED_BY = {"backup": "with backup workers", "n": "n-softsync", "slack": "stale-synchronous"}


def policy_of(setting: ServerSetting) -> Policy:
    """The policy that the controls describe; of `workers`, the backup workers are some."""
    return POLICIES[setting.policy](setting)


def history_at(setting: ServerSetting) -> History:
    """The training of a setting; what its policy and machines do not use is at rest, so that it is trained once."""
    rest: dict[str, Any] = {name: 1 for name, policy in USED_BY.items() if policy != setting.policy}
    if setting.straggler < 0:
        rest["times_slower"] = 1.0
    return _trained(setting._replace(**rest))


@functools.lru_cache(maxsize=64)
def _trained(setting: ServerSetting) -> History:
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
            staleness_weight=WEIGHTS[setting.staleness_weight],
            points=POINTS,
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
