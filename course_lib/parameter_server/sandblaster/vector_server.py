"""Sandblaster's servers and workers: arithmetic where the vectors lie, and gradients of portions of the batch.

command    vectors           what each server does with its part          what it answers
dot        target, source                                                  its part of target . source
scale      target            target = factor x target
add        target, source    target = target + factor x source
copy       target, source    target = source
abs_sum    target                                                          its part of the sum of |target|
evaluate   x, g              g = gradient at x, from the workers           (the workers answer: their parts of the loss)

Dean et al. name the first three as examples of theirs, and a multiplication, which L-BFGS does not need. Added here: a
factor for `add`; `copy`, which a line search needs to go back; `abs_sum`, for the length of a first step; and
`evaluate`, which makes a server collect the gradient.

Source: J. Dean et al., "Large scale distributed deep networks", NIPS 2012, section 4.2.

In portions, pushes, parameters and `done`, a message's `version` is the number of the evaluation that it belongs to,
and its `number` that of the portion; a pull's `number` is the evaluation for which the parameters are wanted.
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Callable, Iterable
from typing import NamedTuple

import torch

from course_lib.parameter_server.actor import Actor, Message, Outbox
from course_lib.parameter_server.shards import Shard, put, take

COMMANDS = ("dot", "scale", "add", "copy", "abs_sum", "evaluate")
_PACKED = struct.Struct("<8s8sd")  # target, source, factor: 24 bytes, however long the vectors are


class Command(NamedTuple):
    """One line of the table: the name of a command, those of its vectors (up to 8 characters), and a factor."""

    name: str
    target: str
    source: str = ""
    factor: float = 1.0

    @property
    def answered(self) -> bool:
        """True if a number comes back."""
        return self.name in ("dot", "abs_sum", "evaluate")

    def message(self, sender: int, *, version: int = 0, count: int = 1) -> Message:
        """The command as a message of 64 + 24 bytes.

        Raises:
            ValueError: if the command is not in the table, or a vector's name has more than 8 characters.

        >>> message = Command("add", "x", "d", factor=0.5).message(sender=0)
        >>> message.payload.numel(), Command.from_message(message)
        (24, Command(name='add', target='x', source='d', factor=0.5))
        """
        if self.name not in COMMANDS:
            raise ValueError(f"a command must be one of {', '.join(COMMANDS)}, got {self.name!r}")
        names = [name.encode() for name in (self.target, self.source)]
        if max(map(len, names)) > 8:
            raise ValueError(f"a vector's name may have 8 characters, got {self.target!r} and {self.source!r}")
        payload = torch.frombuffer(bytearray(_PACKED.pack(*names, self.factor)), dtype=torch.uint8)
        number = COMMANDS.index(self.name)
        return Message("command", sender, version=version, count=count, number=number, payload=payload)

    @staticmethod
    def from_message(message: Message) -> Command:
        """The command that `message` carries."""
        assert message.payload is not None
        target, source, factor = _PACKED.unpack(message.payload.cpu().numpy().tobytes())
        return Command(COMMANDS[message.number], target.rstrip(b"\0").decode(), source.rstrip(b"\0").decode(), factor)


class ShardVectors:
    """One server's parts of named vectors, all of one length. At first there is `x`, the parameters.

    No vector is changed in place: each command makes a new one. So `copy` costs nothing, and a message may still carry
    `x` while the next `x` is made.
    """

    def __init__(self, x: torch.Tensor) -> None:
        self.vectors = {"x": x}

    def __getitem__(self, name: str) -> torch.Tensor:
        if name not in self.vectors:
            raise ValueError(f"there is no vector {name!r} on this shard, only {', '.join(self.vectors)}")
        return self.vectors[name]

    def execute(self, command: Command) -> float | None:
        """Do one command of the table, all but `evaluate`; return the shard's part of the answer if it has one.

        >>> shard = ShardVectors(torch.tensor([3.0, -4.0]))
        >>> shard.execute(Command("copy", "d", "x"))
        >>> shard.execute(Command("scale", "d", factor=2.0))
        >>> shard.execute(Command("dot", "x", "d")), shard.execute(Command("abs_sum", "d"))
        (50.0, 14.0)
        """
        name, target, source, factor = command
        if name == "dot":
            return float(self[target] @ self[source])
        if name == "abs_sum":
            return float(self[target].abs().sum())
        if name == "scale":
            self.vectors[target] = self[target] * factor
        elif name == "add":
            self.vectors[target] = torch.add(self[target], self[source], alpha=factor)
        elif name == "copy":
            self.vectors[target] = self[source]
        else:
            raise ValueError(f"a shard cannot do {name!r} by itself")
        return None


# gradient(parameters, portion): the portion's part of the loss and of its gradient; takes its time itself.
PortionGradient = Callable[[torch.Tensor, int], tuple[float, torch.Tensor]]


class VectorServer(Actor):
    """A Sandblaster server: executes the coordinator's commands on its parts of the vectors, in order.

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
