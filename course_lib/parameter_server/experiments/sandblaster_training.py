"""Sandblaster L-BFGS: full batches in small portions, vectors on the servers, a coordinator that sees only numbers.

Ranks: 0 is the coordinator, then come the servers, then the workers. What Dean et al. leave open, and what is done
here: the line search (`WolfeStep`); how often a portion is handed out (`copies`). They send gradients every few
portions, here each portion's leaves as soon as it is done. The servers' arithmetic takes no virtual time.

Source: J. Dean et al., "Large scale distributed deep networks", NIPS 2012, section 4.2.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache

import torch

from course_lib.comm import Communicator, Network, Report, simulate
from course_lib.parameter_server.actor import CommMailbox, Mailbox, run_actor
from course_lib.parameter_server.experiments.training import GIGABIT, History, settings_of
from course_lib.parameter_server.sandblaster.coordinator import Coordinator, Evaluation
from course_lib.parameter_server.sandblaster.lbfgs import StepRule, WolfeStep, lbfgs_commands
from course_lib.parameter_server.sandblaster.vector_server import PortionGradient, PortionWorker, VectorServer
from course_lib.parameter_server.shards import Shard, put, shard_plan, take
from course_lib.parameter_server.work_queue import portion_slice
from course_lib.tasks import Classifier, load_digits


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
        _program, setting.world_size, (setting,), network=setting.network, ranks="greenlets", device="cpu"
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


def _program(comm: Communicator, setting: SandblasterSetting) -> object:
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
