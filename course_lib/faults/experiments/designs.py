"""The four designs of the course as they behave when nodes die: all-reduce, backup workers, asynchronous, gossip."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import torch

from course_lib.faults.experiments.storm import Failure, Trial, Weather, failures_of
from course_lib.parameter_server import Message, Policy, Server, Sgd, asynchronous, synchronous
from course_lib.tasks import Digits

__all__ = ["DESIGNS", "AllReduce", "Gossip", "Progress", "Served", "train_in"]


@dataclass(frozen=True)
class Progress:
    """What a design made of the weather, simulated.

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

    def run(self, failures: Iterable[Failure]) -> None:
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


def train_in(weather: Weather, design: str, digits: Digits) -> Progress:
    """Train by a design of `DESIGNS` in some weather.

    Raises:
        KeyError: if there is no such design.
    """
    trial = DESIGNS[design](weather, digits)
    trial.run(failures_of(weather))
    possible = weather.nodes * weather.seconds / weather.speeds.gradient_s
    return Progress(trial.time_s, trial.loss, trial.kept / possible)
