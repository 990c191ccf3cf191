"""A tree of servers: aggregators sum the gradients of their workers before they pass them up."""

from __future__ import annotations

from collections.abc import Iterable

import torch

from course_lib.parameter_server.actor import Actor, Outbox
from course_lib.parameter_server.messages import Message

__all__ = ["Aggregator"]


class Aggregator(Actor):
    """A server to its children and a worker to its parent.

    It adds up one gradient of each child and pushes the sum, with the number of gradients in it, and a pull. The
    parameters that come back answer all its children. So a parent receives one gradient for each of its children,
    however many workers sit below them; its policy counts the workers: `synchronous(all workers)`.

    Args:
        rank: its own address.
        parent: a server, or another aggregator.
        children: workers, or aggregators.
    """

    def __init__(self, rank: int, parent: int, children: Iterable[int]) -> None:
        self.rank, self.parent = rank, parent
        self.children = set(children)
        self.clock = 0
        self._newest = Message("parameters", rank, version=-1)
        self._asked = False
        self._pulls: dict[int, Message] = {}
        self._pushes: list[Message] = []
        self._stopped = False

    @property
    def finished(self) -> bool:
        return not self.children and not self._asked

    def begin(self) -> Outbox:
        self._asked = True
        return [(self.parent, Message("pull", self.rank, version=-1))]

    def handle(self, message: Message, now_s: float = 0.0) -> Outbox:
        """Take a message of a child or of the parent.

        Raises:
            ValueError: if it is of a kind that neither of them sends.
        """
        upwards: Outbox = []
        if message.kind == "push":
            self._pushes.append(message)
        elif message.kind == "pull":
            self._pulls[message.sender] = message
        elif message.kind == "goodbye":
            self.children.discard(message.sender)
            if not self.children:
                upwards.append((self.parent, Message("goodbye", self.rank)))
        elif message.kind in ("parameters", "stop"):
            self._asked, self._stopped = False, message.kind == "stop"
            self._newest = message if message.kind == "parameters" else self._newest
        else:
            raise ValueError(f"aggregator {self.rank} cannot handle a message of kind {message.kind!r}")
        if self._pushes and len(self._pushes) >= len(self.children) and not self._stopped:
            upwards += self._push_up()
        return upwards + self._answer_pulls()

    def _push_up(self) -> Outbox:
        """The sum of what the children pushed, and a pull."""
        self.clock += 1
        version = min(push.version for push in self._pushes)
        count = sum(push.count for push in self._pushes)
        total = _sum([push.payload for push in self._pushes if push.payload is not None])
        self._pushes, self._asked = [], True
        push = Message("push", self.rank, self.clock, version, count, payload=total)
        return [(self.parent, push), (self.parent, Message("pull", self.rank, self.clock, version))]

    def _answer_pulls(self) -> Outbox:
        """Parameters for every child that has older ones; a stop for all, once the parent said so."""
        answers: Outbox = []
        for child, pull in list(self._pulls.items()):
            if self._stopped or child not in self.children:
                answers.append((child, Message("stop", self.rank)))
            elif self._newest.version > pull.version and not self._asked:
                newest = self._newest
                answers.append(
                    (child, Message("parameters", self.rank, version=newest.version, payload=newest.payload))
                )
            else:
                continue
            del self._pulls[child]
        return answers


def _sum(payloads: list[torch.Tensor]) -> torch.Tensor | None:
    """The sum as a new tensor, or None of nothing."""
    return sum(payloads[1:], start=payloads[0].clone()) if payloads else None
