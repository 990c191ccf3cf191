"""DistBelief's two ways to train, on the digits, simulated: Downpour SGD and Sandblaster L-BFGS.

Downpour SGD is also trained on one machine, to compare. Sandblaster's ranks: 0 is the coordinator, then come the
servers, then the workers. What Dean et al. leave open, and what is done here: the line search (`WolfeStep`); how often
a portion is handed out (`copies`). They send gradients every few portions, here each portion's leaves as soon as it is
done. The servers' arithmetic takes no virtual time.

Source: J. Dean et al., "Large scale distributed deep networks", NIPS 2012, sections 4.1 and 4.2.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache

import torch

from course_lib.comm import Communicator, Network, Report, Trace, simulate
from course_lib.parameter_server.actor import CommMailbox, Mailbox, Message, run_actor
from course_lib.parameter_server.downpour import Adagrad, WarmStart, replicate
from course_lib.parameter_server.experiments.training import GIGABIT, History, Setting, Speeds, history_of, settings_of
from course_lib.parameter_server.policies import Policy, asynchronous
from course_lib.parameter_server.sandblaster.lbfgs import Coordinator, Evaluation, StepRule, WolfeStep, lbfgs_commands
from course_lib.parameter_server.sandblaster.vector_server import PortionGradient, PortionWorker, VectorServer
from course_lib.parameter_server.server import Optimizer, Server
from course_lib.parameter_server.shards import Shard, put, shard_plan, take
from course_lib.parameter_server.work_queue import portion_slice
from course_lib.tasks import Classifier, digit_batches, load_digits


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
    report = simulate(
        _downpour_program, world_size, (setting,), network=setting.network, ranks="greenlets", device="cpu"
    )
    return _downpour_history(setting, report)


def _downpour_program(comm: Communicator, setting: DownpourSetting) -> Server | int:
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


@dataclass(frozen=True)
class SandblasterSetting:
    """Who minimizes what, on what machines.

    Args:
        iterations: of L-BFGS; it ends earlier where it finds no step.
        history: pairs that L-BFGS keeps, on the servers.
        portions: the batch, all training digits, is cut into so many.
        copies: an outstanding portion is handed out at most so often; 1: no duplicates.
        seconds_per_example_parameter: what a worker computes for one example and one parameter takes so long.
        dtype: of parameters and gradients.
    """

    workers: int = 4
    servers: int = 2
    iterations: int = 20
    history: int = 10
    step_rule: StepRule = field(default_factory=WolfeStep)
    portions: int = 48
    copies: int = 2
    seconds_per_example_parameter: float = 5e-6
    task: Classifier = field(default_factory=Classifier)
    network: Network = GIGABIT
    dtype: torch.dtype = torch.float32
    seed: int = 0

    def __post_init__(self) -> None:
        if min(self.workers, self.servers, self.copies) < 1 or min(self.iterations, self.history) < 0:
            raise ValueError(
                "workers, servers and copies must be at least 1, iterations and history at least 0, got "
                f"{self.workers}, {self.servers}, {self.copies}, {self.iterations} and {self.history}"
            )

    @property
    def plan(self) -> tuple[Shard, ...]:
        """What each server holds."""
        return shard_plan(self.task.lengths, self.servers)

    @property
    def world_size(self) -> int:
        """The coordinator, the servers, the workers."""
        return 1 + self.servers + self.workers


@dataclass(frozen=True)
class SandblasterHistory(History):
    """A `History` whose points are iterations, whose updates count them, and whose gradients count portions.

    Attributes:
        steps: the length of each iteration's step, in directions.
        batches: each evaluation of the batch, those on the way to a step included: from when to when, loss, duplicates.
        iterates: the parameters at each point.
        done: by worker, the (evaluation, portion) pairs that it did.
        portions_dropped: by server, the gradients of portions that came again or too late.
    """

    steps: list[float]
    batches: list[Evaluation]
    iterates: list[torch.Tensor]
    done: list[list[tuple[int, int]]]
    portions_dropped: list[int]


@settings_of(SandblasterSetting)
def train_sandblaster(setting: SandblasterSetting) -> SandblasterHistory:
    """Minimize the loss on all training digits. Arguments are those of `SandblasterSetting`.

    Raises:
        ValueError: if there are more portions than training digits, or none.

    >>> history = train_sandblaster(workers=3, iterations=10)
    >>> history.loss[0] > 2, history.loss[-1] < 0.3, history.loss == sorted(history.loss, reverse=True)
    (True, True, True)
    """
    examples = len(load_digits().train_labels)
    if not 1 <= setting.portions <= examples:
        raise ValueError(f"portions must be from 1 to {examples}, the training digits, got {setting.portions}")
    report = simulate(
        _sandblaster_program, setting.world_size, (setting,), network=setting.network, ranks="greenlets", device="cpu"
    )
    return _history(setting, report)


def portion_gradient(
    task: Classifier, parameters: torch.Tensor, portion: int = 0, portions: int = 1
) -> tuple[float, torch.Tensor]:
    """A portion's part of the mean loss over all training digits, and of its gradient; 1 portion is the whole."""
    all_inputs, all_labels = _training_digits()
    examples = portion_slice(portion, portions, len(all_labels))
    inputs, labels = all_inputs[examples].to(parameters.dtype), all_labels[examples]
    share = len(labels) / len(all_labels)
    return share * task.loss(parameters, inputs, labels), share * task.gradient(parameters, inputs, labels)


@cache
def _training_digits() -> tuple[torch.Tensor, torch.Tensor]:
    return load_digits()[:2]


def _sandblaster_program(comm: Communicator, setting: SandblasterSetting) -> object:
    """One rank: the coordinator, a server or a worker. What it leaves behind."""
    mailbox, servers = CommMailbox(comm), range(1, 1 + setting.servers)
    workers = range(1 + setting.servers, setting.world_size)
    if comm.rank == 0:
        commands = lbfgs_commands(setting.iterations, setting.history, setting.step_rule)
        coordinator = Coordinator(0, commands, servers, workers, setting.portions, setting.copies)
        run_actor(mailbox, coordinator)
        return coordinator.result, coordinator.batches
    if comm.rank in servers:
        x = setting.task.initial(setting.seed).to(setting.dtype)
        server = VectorServer(comm.rank, take(x, setting.plan[comm.rank - 1]), 0, workers)
        run_actor(mailbox, server)
        return server.visited, server.dropped
    worker = PortionWorker(comm.rank, 0, dict(zip(servers, setting.plan, strict=True)), _portions(setting, mailbox))
    run_actor(mailbox, worker)
    return worker.done


def _portions(setting: SandblasterSetting, mailbox: Mailbox) -> PortionGradient:
    """What a worker computes, and the time that it takes."""
    examples = len(load_digits().train_labels)

    def gradient(parameters: torch.Tensor, portion: int) -> tuple[float, torch.Tensor]:
        part = portion_slice(portion, setting.portions, examples)
        factors = (part.stop - part.start) * len(parameters)
        mailbox.compute(factors * setting.seconds_per_example_parameter, f"portion {portion}")
        return portion_gradient(setting.task, parameters, portion, setting.portions)

    return gradient


def _history(setting: SandblasterSetting, report: Report) -> SandblasterHistory:
    """What the coordinator noted, and the servers' parts of x put together."""
    (points, batches), data = report.results[0], load_digits()
    servers = report.results[1 : 1 + setting.servers]
    iterates = []
    for point in points:
        row = torch.empty(sum(setting.task.lengths), dtype=setting.dtype)
        for shard, (visited, _) in zip(setting.plan, servers, strict=True):
            put(row, shard, visited[point.evaluations - 1])
        iterates.append(row)
    return SandblasterHistory(
        policy="Sandblaster L-BFGS",
        time_s=[0.0, *(batches[point.evaluations - 1].end_s for point in points[1:])],
        updates=list(range(len(points))),
        gradients=[setting.portions * point.evaluations for point in points],
        loss=[point.loss for point in points],
        staleness=[],
        dropped=[],
        rate_lost=0.0,
        accuracy=setting.task.accuracy(iterates[-1], data.test_inputs.to(setting.dtype), data.test_labels),
        parameters=iterates[-1],
        trace=report.trace,
        steps=[point.step for point in points],
        batches=batches,
        iterates=iterates,
        done=report.results[1 + setting.servers :],
        portions_dropped=[dropped for _, dropped in servers],
        origin=report.origin,
    )
