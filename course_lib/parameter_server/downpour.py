"""Downpour SGD: replicas that fetch, compute and push at their own pace, and shards that adapt each parameter's rate.

replica: the WHOLE model               shard 0            shard 1: each a part of the parameters, and of
  | -- pull ----------------------------> |                  |     their sums of squared gradients
  | -- pull ------------------------------------------------> |
  | <------------------- parameters v7 -- |                  |
  | <-------------------------------------- parameters v8 -- |     shards have no common clock
  |   n_fetch gradients                   |                  |
  | -- push after every n_push ---------> |                  |     each push is an update, at once
  | -- push ------------------------------------------------> |

Many summaries say that each replica owns a part of the parameters. It does not: the shards do, and every replica holds
the whole model and computes whole gradients. (A replica of Dean et al. may itself be spread over several machines.)

Source: J. Dean et al., "Large scale distributed deep networks", NIPS 2012, section 4.1 and appendix.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import torch

from course_lib.comm import Communicator, Report, Trace, run, simulate
from course_lib.parameter_server.adagrad import Adagrad
from course_lib.parameter_server.classifier import batches
from course_lib.parameter_server.letters import Letter
from course_lib.parameter_server.mailbox import CommMailbox, Mail, Mailbox, Role, converse
from course_lib.parameter_server.policies import Policy, asynchronous
from course_lib.parameter_server.server import Optimizer, Server
from course_lib.parameter_server.shards import put, take
from course_lib.parameter_server.speeds import Speeds
from course_lib.parameter_server.training import History, Setting, history_of

__all__ = ["DownpourHistory", "DownpourSetting", "WarmStart", "downpour", "one_machine", "replicate"]


class WarmStart(Role):
    """A server with which only the replica `first` works until `updates` are made; the others' letters lie so long."""

    def __init__(self, server: Server, first: int, updates: int) -> None:
        self.server, self.first, self.updates = server, first, updates
        self._early: list[Letter] = []

    @property
    def finished(self) -> bool:
        return self.server.finished

    @property
    def warm(self) -> bool:
        """True once the others may join: `first` has made its updates, or has left."""
        return self.server.version >= self.updates or self.first not in self.server.clocks

    def handle(self, letter: Letter, now_s: float = 0.0) -> Mail:
        """Let the server handle the letter, if its time has come, and all that have waited for that."""
        if not self.warm and letter.sender != self.first:
            self._early.append(letter)
            return []
        mail = self.server.handle(letter, now_s)
        while self.warm and self._early:
            mail += self.server.handle(self._early.pop(0), now_s)
        return mail


@dataclass(frozen=True)
class DownpourSetting(Setting):
    """A `Setting` of which the `workers` are the replicas and the `rate` is Adagrad's; `updates` counts pushes.

    Args:
        n_fetch: gradients from one fetch to the next.
        n_push: gradients that a replica adds up before it pushes their sum.
        warm_start: updates of each shard that the first replica makes alone.
        local_rate: between fetches a replica goes down its own gradients at this rate, on its own copy.
        seconds_per_example_parameter: what a replica computes for one example and one parameter takes so long, on
            average; `speeds` says how times differ, its `gradient_s` counts for nothing here.
    """

    policy: Policy = field(default_factory=asynchronous)
    rate: float = 0.1
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


@dataclass(frozen=True)
class DownpourHistory(History):
    """A `History` that says whether its times are "simulated", or "measured" on processes."""

    origin: str


def downpour(*, processes: bool = False, **settings: object) -> DownpourHistory:
    """Train as `DownpourSetting(**settings)` says; gradients are real.

    Args:
        processes: on real processes in place of simulated ranks; `network` is not used then, and a second of
            computing takes a second.

    >>> history = downpour(workers=4, servers=2, warm_start=20, updates=200)
    >>> history.updates[-1], history.loss[0] > 2, history.loss[-1] < 0.5
    (200, True, True)
    """
    setting = DownpourSetting(**settings)  # type: ignore[arg-type]
    world_size = setting.servers + setting.workers
    if processes:
        report = run(_program, world_size, (setting,))
    else:
        report = simulate(_program, world_size, (setting,), network=setting.network, ranks="greenlets")
    return _downpour_history(setting, report)


def replicate(
    mailbox: Mailbox, rank: int, setting: DownpourSetting, gradient: Callable[[torch.Tensor], torch.Tensor]
) -> int:
    """Live as a replica until a shard says stop; the number of gradients made.

    Dean et al. fetch in the background; here a replica waits for what it fetches. Its pushes wait for nothing.
    """
    clock, accrued = 0, None
    while True:
        if clock % setting.n_fetch == 0:
            fetched = _fetch(mailbox, rank, setting)
            if fetched is None:
                break
            parameters, versions = fetched
        newest = gradient(parameters)
        clock += 1
        accrued = newest if accrued is None else accrued + newest
        parameters = torch.sub(parameters, newest, alpha=setting.local_rate)
        if clock % setting.n_push == 0:
            for server, shard in enumerate(setting.plan):
                push = Letter("push", rank, clock, versions[server], payload=take(accrued, shard))
                mailbox.send(server, push)
            accrued = None
    for server in range(setting.servers):
        mailbox.send(server, Letter("goodbye", rank, clock))
    mailbox.close()
    return clock


def _fetch(mailbox: Mailbox, rank: int, setting: DownpourSetting) -> tuple[torch.Tensor, list[int]] | None:
    """The whole model and each shard's version of it; None once a shard says stop."""
    for server in range(setting.servers):
        mailbox.send(server, Letter("pull", rank))
    answers = sorted((mailbox.receive() for _ in range(setting.servers)), key=lambda letter: letter.sender)
    row = torch.empty(sum(setting.task.lengths))
    for answer, shard in zip(answers, setting.plan, strict=True):
        if answer.payload is None:
            return None
        put(row, shard, answer.payload)
    return row, [answer.version for answer in answers]


def _program(comm: Communicator, setting: DownpourSetting) -> Server | int:
    """One rank: a shard or a replica."""
    mailbox, shards = CommMailbox(comm), setting.servers
    if comm.rank < shards:
        server = Server(
            comm.rank,
            take(setting.task.initial(setting.seed), setting.plan[comm.rank]),
            setting.policy,
            range(shards, shards + setting.workers),
            Adagrad(setting.rate),
            updates=setting.updates,
            seconds=setting.seconds,
            keep_every=setting.keep_every,
        )
        converse(mailbox, WarmStart(server, first=shards, updates=setting.warm_start))
        return server
    examples = batches(comm.rank - shards, setting.batch_size, setting.seed)
    seconds = setting.timing.of_worker(comm.rank - shards, setting.seed)

    def gradient(parameters: torch.Tensor) -> torch.Tensor:
        mailbox.compute(next(seconds), "gradient")
        return setting.task.gradient(parameters, *next(examples))

    return replicate(mailbox, comm.rank, setting, gradient)


def _downpour_history(setting: DownpourSetting, report: Report) -> DownpourHistory:
    """The history that the shards kept, its gradients counted one by one."""
    history = vars(history_of(setting, report.results[: setting.servers], report.trace))
    gradients = [pushes * setting.n_push for pushes in history.pop("gradients")]
    return DownpourHistory(**history, gradients=gradients, origin=report.origin)


def one_machine(optimizer: Optimizer, **settings: object) -> DownpourHistory:
    """Train without servers, as the first replica of `downpour(**settings)` would alone if messages took no time.

    >>> from course_lib.parameter_server import Sgd
    >>> history = one_machine(Sgd(0.5), updates=200)
    >>> history.updates[-1], history.loss[-1] < 0.5, history.trace.total_bytes
    (200, True, 0)
    """
    setting = DownpourSetting(**{**settings, "workers": 1, "servers": 1})  # type: ignore[arg-type]
    server = Server(
        0, setting.task.initial(setting.seed), setting.policy, [1], optimizer, keep_every=setting.keep_every
    )
    examples, seconds, now_s = (
        batches(0, setting.batch_size, setting.seed),
        setting.timing.of_worker(0, setting.seed),
        0.0,
    )
    while server.version < setting.updates and now_s < setting.seconds:
        now_s += next(seconds)
        assert server.parameters is not None
        gradient = setting.task.gradient(server.parameters, *next(examples))
        server.handle(Letter("push", 1, server.version + 1, server.version, payload=gradient), now_s)
    report = Report([server], now_s, Trace(1, [], [], [], now_s), "simulated", "one machine")
    return _downpour_history(setting, report)
