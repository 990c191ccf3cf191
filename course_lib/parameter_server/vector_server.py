"""The two other parts in Sandblaster: a server that computes with its parts of vectors, a worker that does portions.

In portions, pushes, parameters and `done`, a letter's `version` is the number of the evaluation that it belongs to, and
its `number` that of the portion; a pull's `number` is the evaluation for which the parameters are wanted.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable

import torch

from course_lib.parameter_server.letters import Letter
from course_lib.parameter_server.mailbox import Mail, Role
from course_lib.parameter_server.shard_vectors import Command, ShardVectors
from course_lib.parameter_server.shards import Shard, put, take

__all__ = ["PortionGradient", "PortionWorker", "VectorServer"]

# gradient(parameters, portion): the portion's part of the loss and of its gradient; takes its time itself.
PortionGradient = Callable[[torch.Tensor, int], tuple[float, torch.Tensor]]


class VectorServer(Role):
    """Obeys the coordinator's commands, one after the other.

    After `evaluate` it collects gradients, and keeps later commands until it has one of each portion. So the
    coordinator need not know which letters are still under way. A portion that comes again, or after its evaluation,
    is dropped; each portion is in the sum exactly once, whoever sent it first.

    Args:
        rank: its own address.
        x: its part of the parameters.
        coordinator: whose commands it obeys.
        workers: who pull and push.
    """

    def __init__(self, rank: int, x: torch.Tensor, coordinator: int, workers: Iterable[int]) -> None:
        self.rank, self.coordinator, self.workers = rank, coordinator, set(workers)
        self.shard = ShardVectors(x)
        self.evaluation = -1
        self.visited: list[torch.Tensor] = []  # x at each evaluation
        self.dropped = 0  # portions that came again or too late
        self._missing: set[int] = set()  # portions of this evaluation that have not come
        self._commands: deque[Letter] = deque()
        self._pulls: list[Letter] = []  # for evaluations that have not begun here
        self._stopped = False

    @property
    def finished(self) -> bool:
        return self._stopped and not self.workers

    def handle(self, letter: Letter, now_s: float = 0.0) -> Mail:
        """Take a command, a portion's gradient or a pull; do what can be done now."""
        if letter.kind == "command":
            self._commands.append(letter)
        elif letter.kind == "push":
            self._add(letter)
        elif letter.kind == "pull":
            self._pulls.append(letter)
        elif letter.kind == "goodbye":
            self.workers.remove(letter.sender)
        elif letter.kind == "stop":
            self._stopped = True
        else:
            raise ValueError(f"server {self.rank} cannot handle a letter of kind {letter.kind!r}")
        return self._obey() + self._answer_pulls()

    def _add(self, push: Letter) -> None:
        """Add a portion's gradient, the first time that it comes."""
        if push.version != self.evaluation or push.number not in self._missing:
            self.dropped += 1
            return
        assert push.payload is not None
        self._missing.remove(push.number)
        self.shard.vectors["g"] = self.shard["g"] + push.payload

    def _obey(self) -> Mail:
        """Execute the commands up to one that must wait for portions."""
        answers: Mail = []
        while self._commands and not self._missing:
            letter = self._commands.popleft()
            command = Command.from_letter(letter)
            if command.name == "evaluate":
                self.evaluation, self._missing = letter.version, set(range(letter.count))
                self.shard.vectors["g"] = torch.zeros_like(self.shard["x"])
                self.visited.append(self.shard["x"])
                continue
            number = self.shard.execute(command)
            if number is not None:
                payload = torch.tensor([number], dtype=torch.float64)
                answers.append((self.coordinator, Letter("result", self.rank, number=letter.number, payload=payload)))
        return answers

    def _answer_pulls(self) -> Mail:
        """Send x to those who want it for this evaluation; no payload to those whose evaluation is over."""
        answers: Mail = []
        for pull in self._pulls:
            if pull.number <= self.evaluation:
                x = self.shard["x"] if pull.number == self.evaluation and self._missing else None
                answers.append((pull.sender, Letter("parameters", self.rank, version=pull.number, payload=x)))
        self._pulls = [pull for pull in self._pulls if pull.number > self.evaluation]
        return answers


class PortionWorker(Role):
    """Does one portion after the other. It pulls the whole model once for each evaluation, with its first portion.

    Args:
        rank: its own address.
        coordinator: who hands out portions and gets the loss.
        servers: their addresses and what each of them holds; they get the gradient.
        gradient: see `PortionGradient`.
    """

    def __init__(self, rank: int, coordinator: int, servers: dict[int, Shard], gradient: PortionGradient) -> None:
        self.rank, self.coordinator, self.servers, self.gradient = rank, coordinator, servers, gradient
        self.done: list[tuple[int, int]] = []  # (evaluation, portion)
        self._parameters = torch.empty(0)
        self._evaluation = -1  # what the parameters belong to
        self._portion: Letter | None = None  # handed out to it
        self._answers: dict[int, Letter] = {}  # by server
        self._stopped = False

    @property
    def finished(self) -> bool:
        return self._stopped

    def begin(self) -> Mail:
        return [(self.coordinator, Letter("ready", self.rank))]

    def handle(self, letter: Letter, now_s: float = 0.0) -> Mail:
        """Take a portion, or a server's part of the parameters; compute once all parts are there."""
        if letter.kind == "stop":
            self._stopped = True
            return [(server, Letter("goodbye", self.rank)) for server in self.servers]
        if letter.kind == "portion":
            self._portion = letter
            if letter.version == self._evaluation:
                return self._compute(letter)
            self._answers = {}
            return [(server, Letter("pull", self.rank, number=letter.version)) for server in self.servers]
        if letter.kind != "parameters" or self._portion is None:
            raise ValueError(f"worker {self.rank} cannot handle a letter of kind {letter.kind!r}")
        self._answers[letter.sender] = letter
        return self._take_parameters(self._portion) if len(self._answers) == len(self.servers) else []

    def _take_parameters(self, portion: Letter) -> Mail:
        """Put the parts together and compute, unless the evaluation was over somewhere."""
        parts = [part for server in self.servers if (part := self._answers[server].payload) is not None]
        if len(parts) < len(self.servers):
            return self.begin()
        self._parameters = torch.empty(sum(map(len, parts)), dtype=parts[0].dtype)
        for shard, part in zip(self.servers.values(), parts, strict=True):
            put(self._parameters, shard, part)
        self._evaluation = portion.version
        return self._compute(portion)

    def _compute(self, portion: Letter) -> Mail:
        """The gradient to the servers, the loss to the coordinator."""
        loss, gradient = self.gradient(self._parameters, portion.number)
        self.done.append((portion.version, portion.number))
        said = {"version": portion.version, "number": portion.number}
        pushes = [
            (server, Letter("push", self.rank, payload=take(gradient, shard), **said))
            for server, shard in self.servers.items()
        ]
        payload = torch.tensor([loss], dtype=torch.float64)
        return [*pushes, (self.coordinator, Letter("done", self.rank, payload=payload, **said))]
