"""The server explorer: what a policy does to waiting, to staleness and to the loss, on machines of your choice."""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import torch

from course_lib.draw.colors import COLORS
from course_lib.draw.histories import loss_panel, shares_of_staleness, staleness_panel
from course_lib.draw.panels import Bars, Lines, Table, Timeline, axis
from course_lib.draw.timelines import timeline_panel
from course_lib.draw.units import format_count
from course_lib.parameter_server import Policy, asynchronous, softsync, stale_synchronous, synchronous
from course_lib.parameter_server.experiments import History, Speeds, train_to_loss
from course_lib.parameter_server.experiments.training import UNTIL_S
from course_lib.widgets.controls import disable, menu, number, scale
from course_lib.widgets.settings import EVERY, SettingExplorer, control

__all__ = [
    "GOAL",
    "MACHINES",
    "POLICIES",
    "UNTIL_S",
    "USED_BY",
    "ServerExplorer",
    "ServerSetting",
    "describe_history",
    "history_at",
    "policy_of",
]

GOAL = 0.2  # the loss that a run shall reach
GRADIENT_S = 0.1

MACHINES: dict[str, Speeds] = {
    "healthy": Speeds(GRADIENT_S, 0.1),
    "all stall at times": Speeds(GRADIENT_S, 0.1, stall_share=0.05, stall_s=1.0),
    "worker 0 is 4× slower": Speeds(GRADIENT_S, 0.1, slower={0: 4.0}),
    "worker 0 is 10× slower": Speeds(GRADIENT_S, 0.1, slower={0: 10.0}),
}


_POLICIES = ["synchronous", "with backup workers", "n-softsync", "stale-synchronous", "asynchronous"]
_MAX_BACKUPS = 4


@dataclass(frozen=True)
class ServerSetting:
    """All that the explorer's controls say."""

    policy: str = control("asynchronous", menu, "policy", _POLICIES, book=EVERY)
    machines: str = control("all stall at times", menu, "machines", list(MACHINES), book=EVERY)
    rate: float = control(8.0, scale, "rate", [0.5, 1.0, 2.0, 4.0, 8.0, 16.0], show="{:g}".format, book=EVERY)
    workers: int = control(8, number, "workers", 2, 8)
    backup: int = control(1, number, "backups", 0, _MAX_BACKUPS, book=[1, 2, 3])
    n: int = control(2, number, "n", 1, 8)
    slack: int = control(2, number, "slack", 0, 8, book=[2, 8])


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
    return _trained(replace(setting, **rest))


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


# The pictures of the server explorer: workers by time, staleness of gradients, loss by virtual time.

_HIGHEST_LOSS = 100.0
_BEGINNING_S = 2.5


def describe_history(history: History) -> str:
    """A run in words: when it is there, how old its gradients are, what was thrown away."""
    oldest = max(history.staleness, default=0)
    if oldest:
        age = f"Gradients are {history.mean_staleness:.3g} updates old on average, {oldest} at most."
    else:
        age = "All gradients that count are fresh."
    thrown = format_count(len(history.dropped), "gradient is", "gradients are")
    return f"{_arrival(history)} {age}" + (f" {thrown} thrown away." if history.dropped else "")


def _arrival(history: History) -> str:
    seconds = history.seconds_to(GOAL)
    if seconds == math.inf:
        return f"The loss is not below {GOAL:g} within {UNTIL_S:g} seconds."
    updates = history.updates[history.time_s.index(seconds)]
    return f"The loss is below {GOAL:g} after {seconds:.1f} s and {format_count(updates, 'update', 'updates')}."


def _facts(history: History) -> Table:
    seconds = history.seconds_to(GOAL)
    facts = {
        f"loss below {GOAL:g} after": f"{seconds:.1f} s" if seconds < math.inf else f"not in {UNTIL_S:g} s",
        "gradients per second": f"{history.gradients[-1] / history.time_s[-1]:.0f}",
        "mean staleness": f"{history.mean_staleness:.3g}",
        "oldest": str(max(history.staleness, default=0)),
        "thrown away": str(len(history.dropped)),
    }
    return Table(facts, "simulated")


def _workers(history: History) -> Timeline:
    """The beginning of virtual time: gradients, messages, waiting."""
    trace = history.trace
    seconds = min(_BEGINNING_S, trace.seconds)
    workers = trace.world_size - 1
    return timeline_panel(
        trace,
        title="The beginning",
        origin="simulated",
        label=f"The first {seconds:.1f} s of {workers} workers: {_waiting(history)}",
        ranks=range(1, trace.world_size),
        names=[f"worker {worker}" for worker in range(workers)],
        until_s=seconds,
        high_px=150.0,
        time="virtual time",
    )


def _staleness(history: History) -> Bars:
    """The share of gradients by staleness, with a mark at the mean."""
    shares, mean = shares_of_staleness(history.staleness), history.mean_staleness
    text = ", ".join(f"{staleness}: {share:.0%}" for staleness, share in list(shares.items())[:12])
    return staleness_panel(
        history.staleness,
        title="How old gradients are",
        origin="simulated",
        label=f"Staleness: mean {mean:.3g}. Shares {text}.",
        oldest=4,
        marks={f"mean {mean:.3g}": (mean, COLORS["vermillion"])},
    )


def _loss(histories: dict[str, History]) -> Lines:
    """Loss by virtual time, logarithmic upward: this policy, and the synchronous one on the same machines."""
    losses = [loss for history in histories.values() for loss in history.loss]
    ends = "; ".join(f"{name} {h.loss[-1]:.3g} after {h.time_s[-1]:.1f} s" for name, h in histories.items())
    y: dict[str, Any] = {"log": True, "high": _HIGHEST_LOSS} if max(losses) > _HIGHEST_LOSS else {"log": True}
    return loss_panel(
        histories,
        title="Loss by virtual time",
        label=f"Loss by virtual time: {ends}.",
        y=axis("loss", losses, **y),
        wide=False,
        height_px=134.0,
    )


def _waiting(history: History) -> str:
    """Who computes most and least of the time."""
    seconds = dict.fromkeys(range(1, history.trace.world_size), 0.0)
    for span in history.trace.spans:
        seconds[span.rank] += span.end_s - span.start_s
    busy = {rank - 1: share / (history.trace.seconds or 1) for rank, share in seconds.items()}
    most, least = max(busy, key=lambda w: busy[w]), min(busy, key=lambda w: busy[w])
    return f"worker {most} computes {busy[most]:.0%} of the time, worker {least} {busy[least]:.0%}."


class ServerExplorer(SettingExplorer):
    """The lecture's parameter server to take apart: timeline of the workers, staleness of gradients, loss by virtual
    time, and the second at which the loss is below the goal.

    Every position of the controls is a run of its own, simulated: real gradients on digits, virtual time.
    """

    Setting = ServerSetting

    @staticmethod
    def pictures(setting: ServerSetting) -> list[str | Table | Timeline | Bars | Lines]:
        """All that is shown of a setting."""
        history = history_at(setting)
        synchronous = history_at(replace(setting, policy="synchronous"))  # on the same machines, to compare with
        return [
            describe_history(history),
            _facts(history),
            _workers(history),
            _staleness(history),
            _loss({policy_of(setting).name: history, "synchronous": synchronous}),
        ]

    def prepare(self) -> None:
        """Only what the policy uses can be moved, and only as far as there are workers."""
        controls, workers = self.controls, self.controls["workers"].value
        for name, policy in USED_BY.items():
            disable(controls[name], controls["policy"].value != policy, f"only with the policy {policy}")
        controls["n"].max, controls["backup"].max = workers, min(workers - 1, _MAX_BACKUPS)
