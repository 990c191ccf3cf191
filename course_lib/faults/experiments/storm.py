"""A storm of failures: which node dies when, and when it is back; the same for every design that is tried in it."""

from __future__ import annotations

import heapq
import itertools
import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from course_lib.faults.interval import young_interval_s
from course_lib.tasks import Classifier, Digits, digit_batches

if TYPE_CHECKING:
    from course_lib.parameter_server.experiments import Speeds

__all__ = ["Failure", "Trial", "Weather", "failures_of"]


class Failure(NamedTuple):
    """A node dies, loses its memory, and is back later."""

    at_s: float
    node: int
    back_s: float


def _usual_speeds() -> Speeds:
    from course_lib.parameter_server.experiments import Speeds  # loads ZeroMQ, which no rank that is killed needs

    return Speeds(gradient_s=1.0, spread=0.2)


@dataclass(frozen=True)
class Weather:
    """Machines, how often they die, and for how long what is trained on them.

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


def failures_of(weather: Weather) -> list[Failure]:
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
            failures.append(Failure(at_s, node, at_s + weather.repair_s))
            at_s += weather.repair_s + draw.expovariate(1.0) * weather.node_mtbf_s
    return sorted(failures)


class Trial(ABC):
    """A design in some weather: events in virtual time; gradients are real.

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

    def run(self, failures: Iterable[Failure]) -> None:
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
