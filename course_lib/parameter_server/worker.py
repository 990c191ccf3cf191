"""A worker: it pulls the parameters, computes a gradient, pushes it, and pulls again."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import torch

from course_lib.parameter_server.actor import Actor, Message, Outbox
from course_lib.parameter_server.shards import Shard, put, shard_length, take

# gradient(parameters, clock): the worker's gradient number `clock`, a row like `parameters`; takes its time itself.
Gradient = Callable[[torch.Tensor | None, int], torch.Tensor | None]


def turns(servers: Iterable[int], rank: int) -> list[int]:
    """The servers in the order in which worker `rank` turns to them: each worker begins with another one.

    If all began with the same server, all would queue there while the others stood idle.

    >>> [turns([0, 1, 2], rank) for rank in (3, 4, 5)]
    [[0, 1, 2], [1, 2, 0], [2, 0, 1]]
    """
    order = list(servers)
    first = rank % len(order)
    return order[first:] + order[:first]


class Worker(Actor):
    """A worker of one or several servers. Each shard has its own version, and a push names the one it was computed on.

    Args:
        rank: its own address.
        servers: their addresses and what each of them holds; None in place of a shard: messages have no payload.
        gradient: called with all the parameters and the number of the gradient, from 1.
    """

    def __init__(self, rank: int, servers: dict[int, Shard | None], gradient: Gradient) -> None:
        self.rank = rank
        self.servers = servers
        self.gradient = gradient
        self.clock = 0
        self.versions = dict.fromkeys(servers, -1)
        self.seen: list[tuple[int, ...]] = []  # for each gradient the versions it was computed on
        self.parameters: torch.Tensor | None = None
        self._order = turns(servers, rank)
        self._waits_for: set[int] = set()  # servers that have not answered
        self._leaving = False

    @property
    def finished(self) -> bool:
        return self._leaving and not self._waits_for

    def begin(self) -> Outbox:
        return self._pulls()

    def handle(self, message: Message, now_s: float = 0.0) -> Outbox:
        """Take a server's answer; once all have answered, compute a gradient, push it and pull again."""
        if message.kind == "acknowledge":
            return []
        self._waits_for.discard(message.sender)
        if message.kind == "stop" and not self._leaving:
            self._leaving = True
            return [(server, Message("goodbye", self.rank)) for server in self.servers]
        if message.kind == "parameters":
            self._keep(message)
        return [] if self._waits_for or self._leaving else self._step()

    def _keep(self, message: Message) -> None:
        """Put a shard's parameters where they belong."""
        self.versions[message.sender] = message.version
        shard = self.servers[message.sender]
        if shard is None or message.payload is None:
            return
        if len(self.servers) == 1 and len(shard) == 1:
            self.parameters = message.payload
            return
        if self.parameters is None:
            length = sum(shard_length(held) for held in self.servers.values() if held is not None)
            self.parameters = message.payload.new_empty(length)
        put(self.parameters, shard, message.payload)

    def _step(self) -> Outbox:
        """Compute a gradient; its parts for the servers, and the next pulls."""
        self.clock += 1
        self.seen.append(tuple(self.versions.values()))
        gradient = self.gradient(self.parameters, self._number)
        pushes = [(server, self._push(server, gradient)) for server in self._order]
        return pushes + self._go_on()

    @property
    def _number(self) -> int:
        """The number of the gradient under way: counted here; whoever is told what to do has another."""
        return self.clock

    def _go_on(self) -> Outbox:
        """After its pushes it pulls."""
        return self._pulls()

    def _push(self, server: int, gradient: torch.Tensor | None) -> Message:
        shard = self.servers[server]
        payload = None if gradient is None or shard is None else take(gradient, shard)
        version = self.versions[server]
        return Message("push", self.rank, self.clock, version, number=self._number, payload=payload)

    def _pulls(self) -> Outbox:
        self._waits_for = set(self.servers)
        return [(server, Message("pull", self.rank, self.clock, self.versions[server])) for server in self._order]
