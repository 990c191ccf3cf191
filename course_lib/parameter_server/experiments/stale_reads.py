"""Stale and torn reads, counted: staleness on versions alone, and parameters of which one part is newer than another.

Also the learning rate at which asynchronous SGD diverges, and two cures of torn reads.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from heapq import heappop, heappush
from itertools import count
from typing import Any, NamedTuple

import torch

from course_lib.checks import at_least
from course_lib.comm import Communicator, Network, simulate
from course_lib.parameter_server.actor import Actor, CommMailbox, Message, Outbox, run_actor
from course_lib.parameter_server.experiments.training import Speeds
from course_lib.parameter_server.policies import Policy, asynchronous
from course_lib.parameter_server.server import Server, Sgd
from course_lib.parameter_server.shards import Shard, shard_length, shard_plan
from course_lib.parameter_server.staleness import Staleness
from course_lib.parameter_server.worker import Gradient, Worker
from course_lib.tasks import load_digits


def largest_stable_rate(curvature: float, staleness: int) -> float:
    """The learning rate above which gradient descent diverges when every gradient is `staleness` updates old.

    x(t + 1) = x(t) - rate × curvature × x(t - τ) goes to 0 while 0 < rate × curvature < 2 sin(π / (4τ + 2)). Fresh
    gradients bear 2 / curvature, gradients that are τ old about π / 2τ as much.

    Source: S. Levin and R. May, "A note on difference-delay equations", Theoretical Population Biology 9(2), 1976.

    >>> [round(largest_stable_rate(1.0, staleness), 3) for staleness in (0, 1, 7)]
    [2.0, 1.0, 0.209]
    """
    if curvature <= 0 or staleness < 0:
        raise ValueError(f"curvature must be positive and staleness 0 or more, got {curvature} and {staleness}")
    return 2 * math.sin(math.pi / (4 * staleness + 2)) / curvature


def largest_curvature() -> float:
    """The largest curvature of the squared loss on the training digits: that of its steepest direction.

    It is the largest eigenvalue of the inputs' second moments, the bias's constant input among them.
    """
    inputs = load_digits().train_inputs
    with_bias = torch.cat([inputs, torch.ones(len(inputs), 1)], dim=1).double()
    return float(torch.linalg.eigvalsh(with_bias.T @ with_bias / len(inputs))[-1])


def measure_staleness(
    policy: Policy, *, workers: int, updates: int, speeds: Speeds | None = None, seed: int = 0
) -> Staleness:
    """Count the staleness of every gradient in so many updates of one server. Gradients take time, messages none.

    Raises:
        ValueError: if there is no worker.

    Cost: about 0.03 ms for each gradient.

    >>> from course_lib.parameter_server import softsync, synchronous
    >>> measure_staleness(synchronous(4), workers=4, updates=10).counts
    {0: 40}
    >>> sorted(measure_staleness(softsync(30, 1), workers=30, updates=20).counts)
    [0, 1, 2]
    """
    at_least(1, workers=workers)
    speeds, crew = speeds or Speeds(), range(1, workers + 1)
    server = Server(0, None, policy, crew, updates=updates)
    seconds = {rank: speeds.of_worker(rank - 1, seed) for rank in crew}
    actors: dict[int, Actor] = {rank: Worker(rank, {0: None}, lambda parameters, clock: None) for rank in crew}
    _deliver({0: server} | actors, lambda rank, message: next(seconds[rank]) if message.kind == "parameters" else 0.0)
    return Staleness.of(value for update in server.log for value in update.staleness)


def _deliver(actors: Mapping[int, Actor], busy_s: Callable[[int, Message], float]) -> None:
    """Hand out messages in the order of their times until there are none; `busy_s` says what handling one takes."""
    on_the_way: list[tuple[float, int, int, Message]] = []
    numbers = count()
    for actor in actors.values():
        for dst, message in actor.begin():
            heappush(on_the_way, (0.0, next(numbers), dst, message))
    while on_the_way:
        now_s, _, rank, message = heappop(on_the_way)
        done_s = now_s + busy_s(rank, message)
        for dst, answer in actors[rank].handle(message, now_s):
            heappush(on_the_way, (done_s, next(numbers), dst, answer))


class TornReads(NamedTuple):
    """How many of how many reads were torn, what one of them saw, and what was asked again for a cure.

    Every gradient is all ones and the rate is -1, so each number that a worker reads is the number of updates that it
    has been through: a torn read is one in which they differ.
    """

    torn: int
    reads: int
    example: list[float] | None
    asked_again: int = 0


class PiecewiseServer(Server):
    """A server that writes each update in place, a piece at a time, and reads its outbox between two pieces.

    Wrong on purpose: who pulls meanwhile gets a row of which the first pieces are an update ahead of the rest.

    Args:
        pieces: an update is written in so many.
        write_s: the time from the first piece to the last. An update that comes earlier has the rest written at once.
    """

    def __init__(self, *arguments: object, pieces: int = 4, write_s: float = 0.0, **more: object) -> None:
        super().__init__(*arguments, **more)  # type: ignore[arg-type]
        self._pieces, self._write_s = pieces, write_s
        self._old, self._begun_s = self.parameters, 0.0

    def handle(self, message: Message, now_s: float = 0.0) -> Outbox:
        """Do as any server does, but show what is written so far."""
        before = self.parameters
        answers = super().handle(message, now_s)
        if self.parameters is not before:
            self._old, self._begun_s = before, now_s
        return [(dst, self._as_written(answer, now_s)) for dst, answer in answers]

    def _as_written(self, answer: Message, now_s: float) -> Message:
        """Parameters with the new pieces up to where the writing has come, and the old ones after that."""
        if answer.payload is None or self._old is None:
            return answer
        passed = (now_s - self._begun_s) / self._write_s if self._write_s else 1.0
        written = 1 + int(passed * (self._pieces - 1))
        new, old = (row.tensor_split(self._pieces) for row in (answer.payload, self._old))
        row = torch.cat([*new[:written], *old[written:]])
        return Message("parameters", self.rank, version=answer.version, payload=row)


class RememberingServer(Server):
    """A server that keeps its last versions, and answers a "recall" with the version that it names."""

    def __init__(self, *arguments: object, remembers: int = 64, **more: object) -> None:
        super().__init__(*arguments, **more)  # type: ignore[arg-type]
        self._remembers, self._versions = remembers, {0: self.parameters}

    def handle(self, message: Message, now_s: float = 0.0) -> Outbox:
        """Answer a recall at once; everything else as any server does.

        Raises:
            ValueError: if a version is recalled that it does not remember.
        """
        if message.kind == "recall":
            if message.version not in self._versions:
                kept = f"server {self.rank} remembers versions {min(self._versions)} to {max(self._versions)}"
                raise ValueError(f"{kept}, worker {message.sender} wants {message.version}")
            old = self._versions[message.version]
            return [(message.sender, Message("parameters", self.rank, version=message.version, payload=old))]
        answers = super().handle(message, now_s)
        self._versions[self.version] = self.parameters
        self._versions.pop(self.version - self._remembers, None)
        return answers


class AgreeingWorker(Worker):
    """A worker that computes only on shards of one version: it recalls the oldest version from those that are ahead.

    Shards of one version have been through the same number of updates. If pushes overtook each other on their way to
    different shards, those need not be the same updates: for that, pushes would need one order for all shards.
    """

    def __init__(self, rank: int, servers: dict[int, Shard | None], gradient: Gradient) -> None:
        super().__init__(rank, servers, gradient)
        self.asked_again = 0

    def _step(self) -> Outbox:
        oldest = min(self.versions.values())
        ahead = [server for server in self._order if self.versions[server] > oldest]
        if not ahead:
            return super()._step()
        self.asked_again += len(ahead)
        self._waits_for = set(ahead)
        return [(server, Message("recall", self.rank, self.clock, oldest)) for server in ahead]


def torn_reads_inside_a_shard(
    *, write_s: float = 0.01, workers: int = 4, updates: int = 200, seed: int = 0
) -> TornReads:
    """Count the torn reads of one server that writes its updates in place, in four pieces, and takes `write_s` for it.

    The cure is what `Server` does: it makes each version as a new tensor, and an answer shows the whole of one. Its
    price is the memory of a second copy while answers are on their way.

    >>> torn_reads_inside_a_shard(write_s=0.0).torn
    0
    """

    def server(rank: int, zeros: torch.Tensor, clients: Iterable[int]) -> Server:
        return PiecewiseServer(rank, zeros, asynchronous(), clients, Sgd(-1.0), updates=updates, write_s=write_s)

    return _count(server, Worker, servers=1, workers=workers, seed=seed)


def torn_reads_across_shards(
    *, servers: int = 2, workers: int = 4, updates: int = 200, cured: bool = False, seed: int = 0
) -> TornReads:
    """Count the reads that found servers at different versions; `cured`: servers remember, and workers ask again.

    >>> torn_reads_across_shards(cured=True).torn
    0
    """
    kind = RememberingServer if cured else Server

    def server(rank: int, zeros: torch.Tensor, clients: Iterable[int]) -> Server:
        return kind(rank, zeros, asynchronous(), clients, Sgd(-1.0), updates=updates)

    return _count(server, AgreeingWorker if cured else Worker, servers=servers, workers=workers, seed=seed)


def _count(
    make_server: Callable[[int, torch.Tensor, Iterable[int]], Server],
    make_worker: Callable[[int, dict[int, Shard | None], Gradient], Worker],
    *,
    servers: int,
    workers: int,
    seed: int,
) -> TornReads:
    """Train on a network whose messages take 1 ms and often some more, and look at every read."""
    network = Network(latency_s=1e-3, jitter=1.0, seed=seed)
    arguments = (make_server, make_worker, servers, workers, seed)
    report = simulate(_program, servers + workers, arguments, network=network, ranks="greenlets", device="cpu")
    results = report.results[servers:]
    reads = [read for reads, _ in results for read in reads]
    torn = [read for read in reads if len(set(read)) > 1]
    return TornReads(len(torn), len(reads), torn[len(torn) // 2] if torn else None, sum(again for _, again in results))


def _program(
    comm: Communicator,
    make_server: Callable[..., Any],
    make_worker: Callable[..., Any],
    servers: int,
    workers: int,
    seed: int,
) -> tuple[list[list[float]], int] | None:
    """One rank: a server of some of eight numbers, or a worker that keeps what it reads."""
    mailbox, plan = CommMailbox(comm, one_by_one=comm.rank >= servers), shard_plan([8], servers)
    if comm.rank < servers:
        zeros = torch.zeros(shard_length(plan[comm.rank]))
        actor: Actor = make_server(comm.rank, zeros, range(servers, servers + workers))
        run_actor(mailbox, actor)
        return None
    reads: list[list[float]] = []
    seconds = Speeds(gradient_s=0.1, spread=0.5).of_worker(comm.rank, seed)

    def gradient(parameters: torch.Tensor | None, clock: int) -> torch.Tensor:
        assert parameters is not None
        reads.append(parameters.tolist())
        mailbox.compute(next(seconds), "gradient")
        return torch.ones_like(parameters)

    worker = make_worker(comm.rank, dict(enumerate(plan)), gradient)
    run_actor(mailbox, worker)
    return reads, getattr(worker, "asked_again", 0)
