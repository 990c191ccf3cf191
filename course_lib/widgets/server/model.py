"""What the server explorer computes: one run on simulated ranks for each position of its controls."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch

from course_lib.parameter_server import Policy, asynchronous, softsync, stale_synchronous, synchronous
from course_lib.parameter_server.experiments import History, Speeds, train_to_loss
from course_lib.parameter_server.experiments.training import UNTIL_S

__all__ = ["GOAL", "MACHINES", "POLICIES", "UNTIL_S", "USED_BY", "ServerSetting", "history_at", "policy_of"]

GOAL = 0.2  # the loss that a run shall reach
GRADIENT_S = 0.1

MACHINES: dict[str, Speeds] = {
    "healthy": Speeds(GRADIENT_S, 0.1),
    "all stall at times": Speeds(GRADIENT_S, 0.1, stall_share=0.05, stall_s=1.0),
    "worker 0 is 4× slower": Speeds(GRADIENT_S, 0.1, slower={0: 4.0}),
    "worker 0 is 10× slower": Speeds(GRADIENT_S, 0.1, slower={0: 10.0}),
}


class ServerSetting(NamedTuple):
    """All that the explorer's controls say."""

    policy: str
    machines: str
    rate: float
    workers: int
    backup: int
    n: int
    slack: int


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
    """The run of a setting; what its policy does not use is at rest, so that it is trained once."""
    rest: dict[str, Any] = {name: 1 for name, policy in USED_BY.items() if policy != setting.policy}
    return _trained(setting._replace(**rest))


@functools.lru_cache(maxsize=256)
def _trained(setting: ServerSetting) -> History:
    """Softmax regression on digits until its loss is below GOAL, or for UNTIL_S virtual seconds: a run of the page."""
    speeds = MACHINES[setting.machines]
    with _one_thread():
        return train_to_loss(policy_of(setting), loss=GOAL, workers=setting.workers, speeds=speeds, rate=setting.rate)


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
