"""All-reduce, backup workers, an asynchronous server and gossip, each in the same storm of node failures."""

from __future__ import annotations

import heapq
import itertools
import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from course_lib.faults.interval import young_interval_s
from course_lib.parameter_server import Message, Policy, Server, Sgd, asynchronous, synchronous
from course_lib.tasks import Classifier, Digits, digit_batches

if TYPE_CHECKING:
    from course_lib.parameter_server.experiments import Speeds


class NodeFailure(NamedTuple):
    """A node dies, loses its memory, and is back later."""

    at_s: float
    node: int
    back_s: float


def _usual_speeds() -> Speeds:
    from course_lib.parameter_server.experiments import Speeds  # loads ZeroMQ, which no rank that is killed needs

    return Speeds(gradient_s=1.0, spread=0.2)


@dataclass(frozen=True)
class Weather:
    """Settings of a storm: the machines, how often they fail, and for how long a training runs on them.

    Args:
        nodes: machines; where there is a server it is one of them.
        seconds: virtual time of the training.
        node_mtbf_s: mean time from a node's return to its next death; infinite: none dies.
        repair_s: from a death until the node, or another in its place, is back.
        speeds: what a gradient takes.
        exchange_s: what gradients or parameters take on the network, each time; without queues.
        save_s: a checkpoint of all-reduce, which waits for it.
        rate: of gradient descent, for the mean of one gradient of each node; every design gives each gradient as much.
    """

    nodes: int = 8
    seconds: float = 240.0
    node_mtbf_s: float = 400.0
    repair_s: float = 10.0
    speeds: Speeds = field(default_factory=_usual_speeds)
    exchange_s: float = 0.1
    save_s: float = 0.5
    rate: float = 0.5
    batch_size: int = 16
    points: int = 40
    seed: int = 0

    @property
    def save_every_s(self) -> float:
        """From one checkpoint to the next: Young's optimum for all nodes together."""
        return young_interval_s(self.save_s, self.node_mtbf_s / self.nodes)


def failures_of(weather: Weather) -> list[NodeFailure]:
    """All deaths, in order. Times between a node's return and its next death are exponential.

    >>> storm = failures_of(Weather(node_mtbf_s=100.0, seed=1))
    >>> storm == failures_of(Weather(node_mtbf_s=100.0, seed=1)), failures_of(Weather(node_mtbf_s=float("inf")))
    (True, [])
    """
    failures = []
    for node in range(weather.nodes):
        draw = random.Random(f"{weather.seed} {node}")
        at_s = draw.expovariate(1.0) * weather.node_mtbf_s
        while at_s < weather.seconds:
            failures.append(NodeFailure(at_s, node, at_s + weather.repair_s))
            at_s += weather.repair_s + draw.expovariate(1.0) * weather.node_mtbf_s
    return sorted(failures)


class Trial(ABC):
    """Base class of a design in a storm: an event loop in virtual time; gradients are real.

    Attributes:
        alive: the nodes that are up.
        kept: gradients that went into the parameters and were not taken back by a checkpoint.
        time_s, loss: a row of points, on all training digits.
    """

    def __init__(self, weather: Weather, digits: Digits) -> None:
        self.weather = weather
        self.digits = digits
        self.task = Classifier()
        self.alive = set(range(weather.nodes))
        self.now_s, self.kept = 0.0, 0
        self.time_s: list[float] = []
        self.loss: list[float] = []
        self._deaths = [0] * weather.nodes
        self._events: list[tuple[float, int, Callable[..., None], tuple[Any, ...]]] = []
        self._order = itertools.count()
        self._times = [weather.speeds.of_worker(node, weather.seed) for node in range(weather.nodes)]
        self._batches = [
            digit_batches(weather.batch_size, rank=node, seed=weather.seed, digits=digits)
            for node in range(weather.nodes)
        ]

    @abstractmethod
    def begin(self) -> None:
        """Start what happens first."""

    @abstractmethod
    def parameters(self) -> torch.Tensor:
        """What would be kept if training ended now."""

    @abstractmethod
    def on_death(self, node: int) -> None:
        """Node is gone, and what it was computing with it."""

    @abstractmethod
    def on_return(self, node: int) -> None:
        """Node is there again, its memory empty."""

    def run(self, failures: Iterable[NodeFailure]) -> None:
        """All events until the end of the time."""
        for failure in failures:
            self.after(failure.at_s, self._die, failure.node)
            self.after(failure.back_s, self._return, failure.node)
        for point in range(self.weather.points + 1):
            self.after(self.weather.seconds * point / self.weather.points, self._look)
        self.begin()
        while self._events and self._events[0][0] <= self.weather.seconds:
            self.now_s, _, action, given = heapq.heappop(self._events)
            action(*given)

    def after(self, seconds: float, action: Callable[..., None], *given: Any) -> None:
        """Do something so many seconds from now."""
        heapq.heappush(self._events, (self.now_s + seconds, next(self._order), action, given))

    def work(self, node: int, then: Callable[..., None], *given: Any) -> None:
        """Do something once `node` has computed a gradient and exchanged what it must, unless it dies before."""
        seconds = next(self._times[node]) + self.weather.exchange_s
        self.after(seconds, self._if_alive, node, self._deaths[node], then, given)

    def slowest_s(self) -> float:
        """What a gradient takes the slowest of all nodes, this time."""
        return max(next(times) for times in self._times)

    def gradient(self, node: int, parameters: torch.Tensor) -> torch.Tensor:
        """The node's gradient on its next batch."""
        return self.task.gradient(parameters, *next(self._batches[node]))

    def _if_alive(self, node: int, deaths: int, then: Callable[..., None], given: tuple[Any, ...]) -> None:
        if self._deaths[node] == deaths:
            then(*given)

    def _die(self, node: int) -> None:
        self.alive.discard(node)
        self._deaths[node] += 1
        self.on_death(node)

    def _return(self, node: int) -> None:
        self.alive.add(node)
        self.on_return(node)

    def _look(self) -> None:
        self.time_s.append(self.now_s)
        self.loss.append(self.task.loss(self.parameters(), self.digits.train_inputs, self.digits.train_labels))


@dataclass(frozen=True)
class StormResult:
    """How far a design came in a storm of failures, simulated.

    Attributes:
        time_s, loss: a row of points, on all training digits.
        kept_share: gradients that went into the parameters and were not taken back by a checkpoint, as a share of what
            all nodes could have computed. (What of gossip's went with a dead node before others had it is not counted.)
    """

    time_s: list[float]
    loss: list[float]
    kept_share: float
    origin: str = "simulated"


class AllReduce(Trial):
    """Each step needs all nodes. When one dies all wait until it is back, and begin again from the last checkpoint."""

    def begin(self) -> None:
        self._row = self._saved_row = self.task.initial(self.weather.seed)
        self._saved_s = 0.0
        self._saved_kept = 0
        self._attempt = 0
        self._step()

    def parameters(self) -> torch.Tensor:
        return self._row

    def _step(self) -> None:
        if len(self.alive) == self.weather.nodes:
            self.after(self.slowest_s() + self.weather.exchange_s, self._update, self._attempt)

    def _update(self, attempt: int) -> None:
        if attempt != self._attempt:  # a node died meanwhile
            return
        batches = zip(*(next(batches) for batches in self._batches), strict=True)
        gradient = self.task.gradient(self._row, *map(torch.cat, batches))  # of equal batches: the mean of theirs
        self._row = self._row - self.weather.rate * gradient
        self.kept += self.weather.nodes
        if self.now_s - self._saved_s >= self.weather.save_every_s:
            self.after(self.weather.save_s, self._save, attempt)
        else:
            self._step()

    def _save(self, attempt: int) -> None:
        if attempt == self._attempt:
            self._saved_row = self._row
            self._saved_kept = self.kept
            self._saved_s = self.now_s
            self._step()

    def on_death(self, node: int) -> None:
        self._attempt += 1
        self._row, self.kept = self._saved_row, self._saved_kept

    def on_return(self, node: int) -> None:
        self._saved_s = self.now_s  # the next checkpoint is counted from here
        self._step()


class Served(Trial):
    """Node 0 is chapter 03's server, the others its workers; what is sent to it while it is dead is sent again.

    The server writes each gradient to a log before it acknowledges it, as in chapter 03, and forgets nothing.
    """

    def __init__(self, weather: Weather, digits: Digits, policy: Policy) -> None:
        super().__init__(weather, digits)
        rate = weather.rate * policy.gradients_per_update / weather.nodes
        self._workers = range(1, weather.nodes)
        self._server = Server(0, self.task.initial(weather.seed), policy, self._workers, Sgd(rate))
        self._clocks = dict.fromkeys(self._workers, 0)
        self._unread: list[Message] = []

    def begin(self) -> None:
        for worker in self._workers:
            self._pull(worker, -1)

    def run(self, failures: Iterable[NodeFailure]) -> None:
        super().run(failures)
        self.kept = sum(len(update.staleness) for update in self._server.log)

    def parameters(self) -> torch.Tensor:
        row = self._server.parameters
        assert row is not None
        return row

    def _pull(self, worker: int, version: int) -> None:
        self._send(Message("pull", worker, self._clocks[worker], version))

    def _send(self, message: Message) -> None:
        """To the server, which answers at once if it is there."""
        if 0 not in self.alive:
            self._unread.append(message)
            return
        for worker, answer in self._server.handle(message, self.now_s):
            if worker in self.alive:
                self.work(worker, self._push, worker, answer.version, answer.payload)

    def _push(self, worker: int, version: int, row: torch.Tensor) -> None:
        self._clocks[worker] += 1
        gradient = self.gradient(worker, row)
        self._send(Message("push", worker, self._clocks[worker], version, payload=gradient))
        self._pull(worker, version)

    def on_death(self, node: int) -> None:
        self._unread = [message for message in self._unread if message.sender != node]

    def on_return(self, node: int) -> None:
        if node:
            self._pull(node, -1)
        else:
            unread, self._unread = self._unread, []
            for message in unread:
                self._send(message)


class Gossip(Trial):
    """Every node has parameters of its own and, after each gradient, averages them with one other that is there.

    Who comes back takes the parameters of one that is there, and its own last ones where nobody is.
    """

    def begin(self) -> None:
        self._draw = random.Random(self.weather.seed)
        self._rows = [self.task.initial(self.weather.seed)] * self.weather.nodes
        for node in range(self.weather.nodes):
            self.work(node, self._move, node, self._rows[node])

    def parameters(self) -> torch.Tensor:
        return torch.stack([self._rows[node] for node in sorted(self.alive)] or self._rows).mean(0)

    def _other(self, node: int) -> int:
        return self._draw.choice(sorted(self.alive - {node}) or [node])

    def _move(self, node: int, row: torch.Tensor) -> None:
        """The gradient is that of the parameters as they were when it was begun."""
        self._rows[node] = self._rows[node] - self.weather.rate * self.gradient(node, row)
        self.kept += 1
        other = self._other(node)
        self._rows[node] = self._rows[other] = (self._rows[node] + self._rows[other]) / 2
        self.work(node, self._move, node, self._rows[node])

    def on_death(self, node: int) -> None:
        pass

    def on_return(self, node: int) -> None:
        self._rows[node] = self._rows[self._other(node)]
        self.work(node, self._move, node, self._rows[node])


DESIGNS: Mapping[str, Callable[[Weather, Digits], Trial]] = {
    "all-reduce": AllReduce,
    "2 backup workers": lambda weather, digits: Served(weather, digits, synchronous(weather.nodes - 3, backup=2)),
    "asynchronous server": lambda weather, digits: Served(weather, digits, asynchronous()),
    "gossip": Gossip,
}


def train_in(weather: Weather, design: str, digits: Digits) -> StormResult:
    """Train by a design of `DESIGNS` in some weather.

    Raises:
        KeyError: if there is no such design.
    """
    trial = DESIGNS[design](weather, digits)
    trial.run(failures_of(weather))
    possible = weather.nodes * weather.seconds / weather.speeds.gradient_s
    return StormResult(trial.time_s, trial.loss, trial.kept / possible)
