"""The actor model: state machines that answer messages with messages, their mailboxes, and the loop that runs an actor.

Source: C. Hewitt, P. Bishop and R. Steiger, "A universal modular actor formalism", IJCAI 1973.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import replace

import torch

from course_lib.comm import Communicator, Work
from course_lib.parameter_server.messages import Message

_UNREAD = 32  # messages that may lie unread at one receiver before its sender waits


class Mailbox(ABC):
    """A mailbox: sends to other addresses and receives from any; messages between two addresses keep their order."""

    @abstractmethod
    def send(self, dst: int, message: Message) -> None:
        """Let `message` go to `dst` and return at once. Its payload must not change from now on."""

    @abstractmethod
    def receive(self) -> Message:
        """Block until a message is there, from whomever, and return it."""

    @abstractmethod
    def now(self) -> float:
        """Seconds on this address's clock."""

    @abstractmethod
    def compute(self, seconds: float, label: str = "compute") -> None:
        """Be busy for `seconds`."""

    @abstractmethod
    def close(self) -> None:
        """Return when all that was sent is out of this address's hands."""


class CommMailbox(Mailbox):
    """Messages over a communicator: a header of 64 bytes, then the payload if there is one.

    `send` returns at once until 16 messages lie unread at their receiver; then it waits for the oldest of them.

    Args:
        one_by_one: a message leaves when the one before has left, as a worker does that has several servers. Otherwise
            all servers wait for the same worker while the others stand idle.
        in_turn: receive from these addresses one after the other, round and round, in place of from anyone: for a
            worker that gets one answer of each server. Otherwise all workers wait for the same server.
        device: where payloads lie that arrive; None: on the rank's own device. They travel through host memory, since
            NCCL cannot receive from anyone.
    """

    def __init__(
        self,
        comm: Communicator,
        *,
        one_by_one: bool = False,
        in_turn: Sequence[int] = (),
        device: torch.device | None = None,
    ) -> None:
        self.comm, self.device = comm, device or comm.device
        self._sent: dict[int, deque[Work]] = {}
        self._one_by_one = one_by_one
        self._sources: Iterator[int | None] = itertools.cycle(in_turn or [None])

    def send(self, dst: int, message: Message) -> None:
        if self._one_by_one:
            self.close()
        sent = self._sent.setdefault(dst, deque())
        sent.append(self.comm.isend(message.header(), dst))
        if message.payload is not None:
            sent.append(self.comm.isend(_on_host(message.payload.detach()), dst))
        while len(sent) > _UNREAD:
            sent.popleft().wait()

    def receive(self) -> Message:
        header = torch.empty(8, dtype=torch.int64)
        src = self.comm.recv(header, next(self._sources))
        message = Message.from_header(header)
        if message.payload is not None:
            self.comm.recv(message.payload, src)
            if not message.payload.is_meta:
                message = replace(message, payload=message.payload.to(self.device))
        return message

    def now(self) -> float:
        return self.comm.now()

    def compute(self, seconds: float, label: str = "compute") -> None:
        self.comm.compute(seconds, label)

    def close(self) -> None:
        for sent in self._sent.values():
            while sent:
                sent.popleft().wait()


def _on_host(row: torch.Tensor) -> torch.Tensor:
    """The row in the processor's memory; a meta tensor has none."""
    return row if row.is_meta else row.cpu()


Outbox = list[tuple[int, Message]]  # messages and whom they go to


class Actor(ABC):
    """An actor: a state machine without input or output of its own. Messages go in, messages come out."""

    @property
    @abstractmethod
    def finished(self) -> bool:
        """True once no message will come any more."""

    def begin(self) -> Outbox:
        """The messages that it sends before it has received any."""
        return []

    def check(self, message: Message) -> None:  # noqa: B027  many refuse nothing
        """Refuse what `handle` would refuse, and change nothing.

        Raises:
            ValueError: saying why.
        """

    @abstractmethod
    def handle(self, message: Message, now_s: float = 0.0) -> Outbox:
        """Take one message that arrived at `now_s`, and return what is to be sent for it."""


def run_actor(mailbox: Mailbox, actor: Actor) -> None:
    """Run `actor`'s event loop at `mailbox` until it has finished: receive, handle, send the answers."""
    for dst, answer in actor.begin():
        mailbox.send(dst, answer)
    while not actor.finished:
        message = mailbox.receive()
        for dst, answer in actor.handle(message, mailbox.now()):
            mailbox.send(dst, answer)
    mailbox.close()
