"""Downpour SGD on the digits, simulated, and the same training on one machine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import torch

from course_lib.comm import Communicator, Report, Trace, simulate
from course_lib.parameter_server.actor import CommMailbox, run_actor
from course_lib.parameter_server.downpour import Adagrad, WarmStart, replicate
from course_lib.parameter_server.experiments.training import History, Setting, Speeds, history_of, settings_of
from course_lib.parameter_server.messages import Message
from course_lib.parameter_server.policies import Policy, asynchronous
from course_lib.parameter_server.server import Optimizer, Server
from course_lib.parameter_server.shards import take
from course_lib.tasks import digit_batches


@dataclass(frozen=True)
class DownpourSetting(Setting):
    """A `Setting` of which the `workers` are the replicas and the `rate` is the optimizer's; `updates` counts pushes.

    Args:
        optimizer: what a shard makes of its rate; each shard gets one of its own.
        n_fetch: gradients from one fetch to the next.
        n_push: gradients that a replica adds up before it pushes their sum.
        warm_start: updates of each shard that the first replica makes alone.
        local_rate: between fetches a replica goes down its own gradients at this rate, on its own copy.
        seconds_per_example_parameter: what a replica computes for one example and one parameter takes so long, on
            average; `speeds` says how times differ, its `gradient_s` counts for nothing here.
    """

    policy: Policy = field(default_factory=asynchronous)
    rate: float = 0.1
    optimizer: Callable[[float], Optimizer] = Adagrad
    n_fetch: int = 1
    n_push: int = 1
    warm_start: int = 0
    local_rate: float = 0.1
    seconds_per_example_parameter: float = 5e-6

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.n_fetch < 1 or self.n_push < 1 or self.warm_start < 0:
            raise ValueError(
                "n_fetch and n_push must be at least 1 and warm_start at least 0, "
                f"got {self.n_fetch}, {self.n_push} and {self.warm_start}"
            )

    @property
    def timing(self) -> Speeds:
        """How long gradients take."""
        factors = self.batch_size * sum(self.task.lengths)
        return replace(self.speeds, gradient_s=factors * self.seconds_per_example_parameter)


@settings_of(DownpourSetting)
def train_downpour(setting: DownpourSetting) -> History:
    """Train with Downpour SGD; gradients are real. Arguments are those of `DownpourSetting`.

    >>> history = train_downpour(workers=4, servers=2, warm_start=20, updates=200)
    >>> history.updates[-1], history.loss[0] > 2, history.loss[-1] < 0.5
    (200, True, True)
    """
    world_size = setting.servers + setting.workers
    report = simulate(_program, world_size, (setting,), network=setting.network, ranks="greenlets", device="cpu")
    return _downpour_history(setting, report)


def _program(comm: Communicator, setting: DownpourSetting) -> Server | int:
    """One rank: a shard or a replica."""
    mailbox, shards = CommMailbox(comm), setting.servers
    if comm.rank < shards:
        server = Server(
            comm.rank,
            take(setting.task.initial(setting.seed), setting.plan[comm.rank]),
            setting.policy,
            range(shards, shards + setting.workers),
            setting.optimizer(setting.rate),
            updates=setting.updates,
            seconds=setting.seconds,
            keep_every=setting.keep_every,
        )
        run_actor(mailbox, WarmStart(server, first=shards, updates=setting.warm_start))
        return server
    examples = digit_batches(setting.batch_size, rank=comm.rank - shards, seed=setting.seed)
    seconds = setting.timing.of_worker(comm.rank - shards, setting.seed)

    def gradient(parameters: torch.Tensor) -> torch.Tensor:
        mailbox.compute(next(seconds), "gradient")
        return setting.task.gradient(parameters, *next(examples))

    return replicate(
        mailbox,
        comm.rank,
        setting.plan,
        gradient,
        n_fetch=setting.n_fetch,
        n_push=setting.n_push,
        local_rate=setting.local_rate,
    )


def _downpour_history(setting: DownpourSetting, report: Report) -> History:
    """The history that the shards kept, its gradients counted one by one."""
    history = history_of(setting, report)
    return replace(history, gradients=[pushes * setting.n_push for pushes in history.gradients])


def train_on_one_machine(optimizer: Optimizer, updates: int = 200, *, seed: int = 0) -> History:
    """Train without servers, as the first replica of `train_downpour` would alone if messages took no time.

    >>> from course_lib.parameter_server import Sgd
    >>> history = train_on_one_machine(Sgd(0.5), updates=200)
    >>> history.updates[-1], history.loss[-1] < 0.5, history.trace.total_bytes
    (200, True, 0)
    """
    setting = DownpourSetting(workers=1, updates=updates, seed=seed)
    server = Server(
        0, setting.task.initial(setting.seed), setting.policy, [1], optimizer, keep_every=setting.keep_every
    )
    examples, now_s = digit_batches(setting.batch_size, seed=seed), 0.0
    seconds = setting.timing.of_worker(0, seed)
    for clock in range(1, updates + 1):
        now_s += next(seconds)
        assert server.parameters is not None
        gradient = setting.task.gradient(server.parameters, *next(examples))
        server.handle(Message("push", 1, clock, server.version, payload=gradient), now_s)
    report = Report([server], now_s, Trace(1, [], [], [], now_s), "simulated", "one machine")
    return _downpour_history(setting, report)
