"""The two other parts in Sandblaster: a server that computes with its parts of vectors, a worker that does portions.

In portions, pushes, parameters and `done`, a message's `version` is the number of the evaluation that it belongs to,
and its `number` that of the portion; a pull's `number` is the evaluation for which the parameters are wanted.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable

import torch

from course_lib.parameter_server.actor import Actor, Outbox
from course_lib.parameter_server.messages import Message
from course_lib.parameter_server.sandblaster.shard_vectors import Command, ShardVectors
from course_lib.parameter_server.shards import Shard, put, take

__all__ = ["PortionGradient", "PortionWorker", "VectorServer"]

# gradient(parameters, portion): the portion's part of the loss and of its gradient; takes its time itself.
PortionGradient = Callable[[torch.Tensor, int], tuple[float, torch.Tensor]]


class VectorServer(Actor):
    """Obeys the coordinator's commands, one after the other.

    After `evaluate` it collects gradients, and keeps later commands until it has one of each portion. So the
    coordinator need not know which messages are still under way. A portion that comes again, or after its evaluation,
    is dropped; each portion is in the sum exactly once, whoever sent it first.

    Args:
        rank: its own address.
        x: its part of the parameters.
        coordinator: whose commands it obeys.
        workers: who pull and push.
    """

    def __init__(self, rank: int, x: torch.Tensor, coordinator: int, workers: Iterable[int]) -> None:
        self.rank = rank
        self.coordinator = coordinator
        self.workers = set(workers)
        self.shard = ShardVectors(x)
        self.evaluation = -1
        self.visited: list[torch.Tensor] = []  # x at each evaluation
        self.dropped = 0  # portions that came again or too late
        self._missing: set[int] = set()  # portions of this evaluation that have not come
        self._commands: deque[Message] = deque()
        self._pulls: list[Message] = []  # for evaluations that have not begun here
        self._stopped = False

    @property
    def finished(self) -> bool:
        return self._stopped and not self.workers

    def handle(self, message: Message, now_s: float = 0.0) -> Outbox:
        """Take a command, a portion's gradient or a pull; do what can be done now."""
        if message.kind == "command":
            self._commands.append(message)
        elif message.kind == "push":
            self._add(message)
        elif message.kind == "pull":
            self._pulls.append(message)
        elif message.kind == "goodbye":
            self.workers.remove(message.sender)
        elif message.kind == "stop":
            self._stopped = True
        else:
            raise ValueError(f"server {self.rank} cannot handle a message of kind {message.kind!r}")
        return self._obey() + self._answer_pulls()

    def _add(self, push: Message) -> None:
        """Add a portion's gradient, the first time that it comes."""
        if push.version != self.evaluation or push.number not in self._missing:
            self.dropped += 1
            return
        assert push.payload is not None
        self._missing.remove(push.number)
        g = self.shard["g"]
        self.shard.vectors["g"] = g + push.payload.to(g.device)

    def _obey(self) -> Outbox:
        """Execute the commands up to one that must wait for portions."""
        answers: Outbox = []
        while self._commands and not self._missing:
            message = self._commands.popleft()
            command = Command.from_message(message)
            if command.name == "evaluate":
                self.evaluation, self._missing = message.version, set(range(message.count))
                self.shard.vectors["g"] = torch.zeros_like(self.shard["x"])
                self.visited.append(self.shard["x"])
                continue
            number = self.shard.execute(command)
            if number is not None:
                payload = torch.tensor([number], dtype=torch.float64)
                answers.append((self.coordinator, Message("result", self.rank, number=message.number, payload=payload)))
        return answers

    def _answer_pulls(self) -> Outbox:
        """Send x to those who want it for this evaluation; no payload to those whose evaluation is over."""
        answers: Outbox = []
        for pull in self._pulls:
            if pull.number <= self.evaluation:
                x = self.shard["x"] if pull.number == self.evaluation and self._missing else None
                answers.append((pull.sender, Message("parameters", self.rank, version=pull.number, payload=x)))
        self._pulls = [pull for pull in self._pulls if pull.number > self.evaluation]
        return answers


class PortionWorker(Actor):
    """Does one portion after the other. It pulls the whole model once for each evaluation, with its first portion.

    Args:
        rank: its own address.
        coordinator: who hands out portions and gets the loss.
        servers: their addresses and what each of them holds; they get the gradient.
        gradient: see `PortionGradient`.
    """

    def __init__(self, rank: int, coordinator: int, servers: dict[int, Shard], gradient: PortionGradient) -> None:
        self.rank = rank
        self.coordinator = coordinator
        self.servers = servers
        self.gradient = gradient
        self.done: list[tuple[int, int]] = []  # (evaluation, portion)
        self._parameters = torch.empty(0)
        self._evaluation = -1  # what the parameters belong to
        self._portion: Message | None = None  # handed out to it
        self._answers: dict[int, Message] = {}  # by server
        self._stopped = False

    @property
    def finished(self) -> bool:
        return self._stopped

    def begin(self) -> Outbox:
        return [(self.coordinator, Message("ready", self.rank))]

    def handle(self, message: Message, now_s: float = 0.0) -> Outbox:
        """Take a portion, or a server's part of the parameters; compute once all parts are there."""
        if message.kind == "stop":
            self._stopped = True
            return [(server, Message("goodbye", self.rank)) for server in self.servers]
        if message.kind == "portion":
            self._portion = message
            if message.version == self._evaluation:
                return self._compute(message)
            self._answers = {}
            return [(server, Message("pull", self.rank, number=message.version)) for server in self.servers]
        if message.kind != "parameters" or self._portion is None:
            raise ValueError(f"worker {self.rank} cannot handle a message of kind {message.kind!r}")
        self._answers[message.sender] = message
        return self._take_parameters(self._portion) if len(self._answers) == len(self.servers) else []

    def _take_parameters(self, portion: Message) -> Outbox:
        """Put the parts together and compute, unless the evaluation was over somewhere."""
        parts = [part for server in self.servers if (part := self._answers[server].payload) is not None]
        if len(parts) < len(self.servers):
            return self.begin()
        self._parameters = parts[0].new_empty(sum(map(len, parts)))
        for shard, part in zip(self.servers.values(), parts, strict=True):
            put(self._parameters, shard, part)
        self._evaluation = portion.version
        return self._compute(portion)

    def _compute(self, portion: Message) -> Outbox:
        """The gradient to the servers, the loss to the coordinator."""
        loss, gradient = self.gradient(self._parameters, portion.number)
        self.done.append((portion.version, portion.number))
        said = {"version": portion.version, "number": portion.number}
        pushes = [
            (server, Message("push", self.rank, payload=take(gradient, shard), **said))
            for server, shard in self.servers.items()
        ]
        payload = torch.tensor([loss], dtype=torch.float64)
        return [*pushes, (self.coordinator, Message("done", self.rank, payload=payload, **said))]
