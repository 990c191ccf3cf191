"""Training a classifier with a parameter server, on the virtual clock: loss by time, by updates, and by staleness."""

from __future__ import annotations

import functools
import inspect
import math
import random
from bisect import bisect
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from statistics import median
from typing import Any, NamedTuple, ParamSpec, TypeVar

import torch

from course_lib.checks import at_least
from course_lib.comm import Communicator, Network, Report, Trace, simulate
from course_lib.parameter_server.actor import CommMailbox, run_actor
from course_lib.parameter_server.policies import Policy
from course_lib.parameter_server.server import Server, Sgd
from course_lib.parameter_server.shards import Shard, put, shard_plan, take
from course_lib.parameter_server.staleness import FULL_WEIGHT, StalenessWeight
from course_lib.parameter_server.worker import Worker, turns
from course_lib.tasks import Classifier, digit_batches, load_digits

P = ParamSpec("P")
S = TypeVar("S")
R = TypeVar("R")


def settings_of(make: Callable[P, S]) -> Callable[[Callable[[S], R]], Callable[P, R]]:
    """Let a function of one setting be called with what makes that setting; help and types name each argument.

    >>> from fractions import Fraction
    >>> @settings_of(Fraction)
    ... def double(setting):
    ...     return 2 * setting
    >>> double(1, denominator=3)
    Fraction(2, 3)
    """

    def decorate(function: Callable[[S], R]) -> Callable[P, R]:
        @functools.wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            return function(make(*args, **kwargs))

        call.__signature__ = inspect.signature(make)  # type: ignore[attr-defined]
        return call

    return decorate


@dataclass(frozen=True)
class Speeds:
    """Times of gradients, drawn from a seed: equal seeds give equal times, whatever happens between them.

    Args:
        gradient_s: what a gradient takes on average.
        spread: a time differs from that by up to this share, evenly to both sides.
        slower: worker -> how many times slower it always is, 1 or more.
        stall_share: the share of gradients that a stall makes `stall_s` longer.

    Raises:
        ValueError: if a number is out of its range.
    """

    gradient_s: float = 0.1
    spread: float = 0.1
    slower: Mapping[int, float] = field(default_factory=dict)
    stall_share: float = 0.0
    stall_s: float = 0.0

    def __post_init__(self) -> None:
        if not (self.gradient_s > 0 and 0 <= self.spread < 1 and 0 <= self.stall_share <= 1 and self.stall_s >= 0):
            raise ValueError(f"gradient_s must be positive, spread and stall_share shares of 1, got {self}")
        if min(self.slower.values(), default=1) < 1:
            raise ValueError(f"slower must be 1 or more for each worker in it, got {dict(self.slower)}")

    def of_worker(self, worker: int, seed: int = 0) -> Iterator[float]:
        """The seconds that each of a worker's gradients takes, without end.

        >>> times = Speeds(gradient_s=1.0, spread=0.0, slower={2: 3.0})
        >>> [next(times.of_worker(worker)) for worker in (0, 1, 2)]
        [1.0, 1.0, 3.0]
        """
        random_numbers = random.Random(f"{seed} {worker}")
        base_s = self.gradient_s * self.slower.get(worker, 1.0)
        while True:
            seconds = base_s * (1 + self.spread * random_numbers.uniform(-1, 1))
            stalls = random_numbers.random() < self.stall_share
            yield seconds + self.stall_s * stalls


GIGABIT = Network(latency_s=1e-4, bytes_per_s=125e6)  # Ethernet of 1 Gbit/s and 0.1 ms


@dataclass(frozen=True)
class Setting:
    """Who trains what, on what machines. Ranks: the servers first, then the workers.

    Args:
        updates: each server stops after so many, or after `seconds`, whichever comes first.
        rate: of stochastic gradient descent; an update goes down the mean of its gradients.
        batch_size: images in one worker's batch.
        shard_by: the rule of `shard_plan`.
        points: about how often the loss is taken, after equally many updates each.
        every_s: the loss is taken each time that so many virtual seconds have passed, in place of `points`.

    Raises:
        ValueError: if there is no worker, no server, no end or nothing in a batch.
    """

    policy: Policy
    workers: int = 4
    servers: int = 1
    speeds: Speeds = field(default_factory=Speeds)
    updates: float = 200
    seconds: float = math.inf
    rate: float = 0.5
    staleness_weight: StalenessWeight = FULL_WEIGHT
    task: Classifier = field(default_factory=Classifier)
    batch_size: int = 32
    network: Network = GIGABIT
    shard_by: str = "even"
    points: int = 40
    every_s: float | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if self.workers < 1 or self.servers < 1:
            raise ValueError(f"training needs workers and servers, got {self.workers} and {self.servers}")
        if min(self.batch_size, self.points) < 1:
            raise ValueError(f"batch_size and points must be at least 1, got {self.batch_size} and {self.points}")
        if math.isinf(self.updates) and math.isinf(self.seconds):
            raise ValueError("training needs an end: give updates or seconds")
        if self.every_s is not None and self.every_s <= 0:
            raise ValueError(f"every_s must be more than 0, got {self.every_s}")

    @property
    def plan(self) -> tuple[Shard, ...]:
        """What each server holds."""
        return shard_plan(self.task.lengths, self.servers, self.shard_by)

    @property
    def keep_every(self) -> int:
        """Servers keep the parameters after so many updates: those at which the loss will be taken, or all."""
        by_updates = math.isfinite(self.updates) and self.every_s is None
        return max(1, int(self.updates) // self.points) if by_updates else 1


@dataclass(frozen=True)
class History:
    """What a training leaves behind; where it is simulated, equal settings give an equal history.

    Attributes:
        time_s, updates, gradients, loss: a row of points: virtual time, updates and gradients until then, and the
            loss on all training images. The first point is the beginning.
        staleness: of each gradient that was used, in order (as the first server saw it).
        dropped: of each gradient that was thrown away.
        rate_lost: the share of the used gradients' weight that the staleness_weight took away.
        accuracy: on the test images, at the end.
        parameters: at the end, all shards together.
        trace: who sent what when; spans labelled "gradient" are the workers' computing.
        origin: "simulated".
    """

    policy: str
    time_s: list[float]
    updates: list[int]
    gradients: list[int]
    loss: list[float]
    staleness: list[int]
    dropped: list[int]
    rate_lost: float
    accuracy: float
    parameters: torch.Tensor
    trace: Trace
    origin: str

    @property
    def mean_staleness(self) -> float:
        """Mean over all gradients used."""
        return sum(self.staleness) / max(len(self.staleness), 1)

    @property
    def busy_share(self) -> float:
        """The share of the workers' time, up to the last update, in which they computed gradients, not waited."""
        ranks, end_s = {span.rank for span in self.trace.spans}, self.time_s[-1]
        busy_s = sum(min(span.end_s, end_s) - min(span.start_s, end_s) for span in self.trace.spans)
        return busy_s / (len(ranks) * end_s) if end_s else 0.0

    def loss_at(self, time_s: float) -> float:
        """The loss at the last point up to `time_s`."""
        return [loss for at_s, loss in zip(self.time_s, self.loss, strict=True) if at_s <= time_s][-1]

    def seconds_to(self, loss: float) -> float:
        """The time of the first point with a loss below `loss`; infinite if there is none."""
        points = zip(self.time_s, self.loss, strict=True)
        return next((at_s for at_s, here in points if here < loss), math.inf)


@settings_of(Setting)
def train(setting: Setting) -> History:
    """Train on simulated ranks; gradients are real, time is virtual. Arguments are those of `Setting`.

    Cost: about 0.3 ms of real time for each gradient, and as much for each point of the loss.

    >>> from course_lib.parameter_server import asynchronous, synchronous
    >>> history = train(synchronous(4), workers=4, updates=20)
    >>> history.updates[-1], history.gradients[-1], set(history.staleness)
    (20, 80, {0})
    >>> round(train(asynchronous(), workers=4, updates=200).mean_staleness, 1)
    3.0
    """
    world_size = setting.servers + setting.workers
    report = simulate(_program, world_size, (setting,), network=setting.network, ranks="greenlets", device="cpu")
    return history_of(setting, report)


def _program(comm: Communicator, setting: Setting) -> Server | None:
    """One rank: a server or a worker."""
    if comm.rank < setting.servers:
        server = _server(comm.rank, setting)
        run_actor(CommMailbox(comm), server)
        return server
    mailbox = CommMailbox(comm, one_by_one=True, in_turn=turns(range(setting.servers), comm.rank))
    number = comm.rank - setting.servers
    examples = digit_batches(setting.batch_size, rank=number, seed=setting.seed)
    seconds = setting.speeds.of_worker(number, setting.seed)

    def gradient(parameters: torch.Tensor | None, clock: int) -> torch.Tensor:
        assert parameters is not None
        mailbox.compute(next(seconds), "gradient")
        return setting.task.gradient(parameters, *next(examples))

    run_actor(mailbox, Worker(comm.rank, dict(enumerate(setting.plan)), gradient))
    return None


def _server(rank: int, setting: Setting) -> Server:
    workers = range(setting.servers, setting.servers + setting.workers)
    return Server(
        rank,
        take(setting.task.initial(setting.seed), setting.plan[rank]),
        setting.policy,
        workers,
        Sgd(setting.rate),
        staleness_weight=setting.staleness_weight,
        updates=setting.updates,
        seconds=setting.seconds,
        keep_every=setting.keep_every,
    )


def history_of(setting: Setting, report: Report) -> History:
    """What the servers' logs say together, with the loss at those versions that the first server has kept."""
    servers, data = report.results[: setting.servers], load_digits()
    log = servers[0].log
    final = _row(setting, [server.parameters for server in servers])
    time_s, points = _points(setting, [update.at_s for update in log])
    rows = [*_rows_at(setting, servers, time_s[:-1]), final]
    used = [0]
    for update in log:
        used.append(used[-1] + len(update.staleness))
    weights = list(chain.from_iterable(update.weights for update in log))
    return History(
        policy=setting.policy.name,
        time_s=time_s,
        updates=points,
        gradients=[used[point] for point in points],
        loss=[setting.task.loss(row, data.train_inputs, data.train_labels) for row in rows],
        staleness=list(chain.from_iterable(update.staleness for update in log)),
        dropped=servers[0].dropped,
        rate_lost=1 - sum(weights) / len(weights) if weights else 0.0,
        accuracy=setting.task.accuracy(final, data.test_inputs, data.test_labels),
        parameters=final,
        trace=report.trace,
        origin=report.origin,
    )


def _points(setting: Setting, at_s: Sequence[float]) -> tuple[list[float], list[int]]:
    """When the loss is taken, and how many of the updates, which are made `at_s`, are made by then."""
    last_s = at_s[-1] if at_s else 0.0
    if setting.every_s is not None:
        looks = [round(number * setting.every_s, 9) for number in range(math.ceil(last_s / setting.every_s))]
        return [*looks, last_s], [*(bisect(at_s, look) for look in looks), len(at_s)]
    every = setting.keep_every if math.isfinite(setting.updates) else max(1, len(at_s) // setting.points)
    points = [*range(0, len(at_s), every), len(at_s)]
    return [at_s[point - 1] if point else 0.0 for point in points], points


def _rows_at(setting: Setting, servers: Sequence[Server], times_s: Sequence[float]) -> Iterator[torch.Tensor]:
    """The whole row as it lay on the servers at each of these times, in order, as far as versions were kept."""
    held = [take(setting.task.initial(setting.seed), shard) for shard in setting.plan]
    logs = [deque(update for update in server.log if update.parameters is not None) for server in servers]
    for at_s in times_s:
        for number, log in enumerate(logs):
            while log and log[0].at_s <= at_s:
                held[number] = log.popleft().parameters
        yield _row(setting, held)


def _row(setting: Setting, held: Sequence[torch.Tensor]) -> torch.Tensor:
    """All shards in one row."""
    row = held[0].new_empty(sum(setting.task.lengths))
    for shard, numbers in zip(setting.plan, held, strict=True):
        put(row, shard, numbers)
    return row


UNTIL_S = 13.0


class Needed(NamedTuple):
    """What several runs needed.

    Attributes:
        seconds: the median of their times; infinite if more than half of them did not arrive.
        oldest: the largest staleness of a gradient that one of them used.
    """

    seconds: float
    oldest: int


def time_to_loss(policy: Policy, *, loss: float = 0.2, seeds: Sequence[int] = range(5), **setting: Any) -> Needed:
    """The median over seeds of the virtual time at which the loss on all training images is first below `loss`.

    Everybody's loss is looked at every tenth of a second: whoever updates more often is not looked at more often.
    Whoever is not there after 13 virtual seconds does not arrive. `setting`: what else `train` takes, such as workers,
    speeds and rate.

    Cost: that of `train` for each seed; a run that is there in the first third is not trained to its end.

    Raises:
        ValueError: if there is no seed.

    >>> from course_lib.parameter_server import synchronous
    >>> from course_lib.parameter_server.experiments import Speeds
    >>> time_to_loss(synchronous(8), workers=8, rate=8, speeds=Speeds(0.1, 0.1), seeds=[0])
    Needed(seconds=2.8, oldest=0)
    """
    at_least(1, seeds=len(seeds))
    runs = [train_to_loss(policy, loss=loss, seed=seed, **setting) for seed in seeds]
    oldest = max(max(history.staleness, default=0) for history in runs)
    return Needed(median(history.seconds_to(loss) for history in runs), oldest)


def train_to_loss(policy: Policy, *, loss: float = 0.2, until_s: float = UNTIL_S, **setting: Any) -> History:
    """A run that goes on until its loss has been below `loss`, or for 13 virtual seconds.

    A shorter run is the beginning of a longer one, so a third of the time is tried first.
    """
    until: dict[str, Any] = {"updates": math.inf, "every_s": 0.1}
    history = train(policy, **setting, **until, seconds=until_s / 3)
    return history if history.seconds_to(loss) < math.inf else train(policy, **setting, **until, seconds=until_s)
