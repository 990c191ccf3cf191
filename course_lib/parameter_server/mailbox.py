"""How letters get from one role to another, and the one loop in which every role lives."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterator, Sequence

import torch

from course_lib.comm import Communicator, Work
from course_lib.parameter_server.letters import Letter

__all__ = ["CommMailbox", "Mail", "Mailbox", "Role", "converse"]

Mail = list[tuple[int, Letter]]  # letters and whom they go to

_UNREAD = 32  # messages that may lie unread at one receiver before its sender waits


class Mailbox(ABC):
    """One address: letters go out to others and come in from anyone; between two addresses they keep their order."""

    @abstractmethod
    def send(self, dst: int, letter: Letter) -> None:
        """Let `letter` go to `dst` and return at once. Its payload must not change from now on."""

    @abstractmethod
    def receive(self) -> Letter:
        """Block until a letter is there, from whomever, and return it."""

    @abstractmethod
    def now(self) -> float:
        """Seconds on this address's clock."""

    @abstractmethod
    def compute(self, seconds: float, label: str = "compute") -> None:
        """Be busy for `seconds`."""

    @abstractmethod
    def close(self) -> None:
        """Return when all that was sent is out of this address's hands."""


class Role(ABC):
    """Who lives at an address: a machine without input or output of its own. Letters go in, letters come out."""

    @property
    @abstractmethod
    def finished(self) -> bool:
        """True once no letter will come any more."""

    def begin(self) -> Mail:
        """The letters that it sends before it has received any."""
        return []

    @abstractmethod
    def handle(self, letter: Letter, now_s: float = 0.0) -> Mail:
        """Take one letter that arrived at `now_s`, and return what is to be sent for it."""


def converse(mailbox: Mailbox, role: Role) -> None:
    """Let `role` live at `mailbox` until it has finished: receive, handle, send what it answers."""
    for dst, answer in role.begin():
        mailbox.send(dst, answer)
    while not role.finished:
        letter = mailbox.receive()
        for dst, answer in role.handle(letter, mailbox.now()):
            mailbox.send(dst, answer)
    mailbox.close()


class CommMailbox(Mailbox):
    """Letters over a communicator: a header of 64 bytes, then the payload if there is one.

    `send` returns at once until 16 letters lie unread at their receiver; then it waits for the oldest of them.

    Args:
        one_by_one: a letter leaves when the one before has left, as a worker does that has several servers. Otherwise
            all servers wait for the same worker while the others stand idle.
        in_turn: receive from these addresses one after the other, round and round, in place of from anyone: for a
            worker that gets one answer of each server. Otherwise all workers wait for the same server.
    """

    def __init__(self, comm: Communicator, *, one_by_one: bool = False, in_turn: Sequence[int] = ()) -> None:
        self.comm = comm
        self._sent: dict[int, deque[Work]] = {}
        self._one_by_one = one_by_one
        self._sources: Iterator[int | None] = itertools.cycle(in_turn or [None])

    def send(self, dst: int, letter: Letter) -> None:
        if self._one_by_one:
            self.close()
        sent = self._sent.setdefault(dst, deque())
        sent.append(self.comm.isend(letter.header(), dst))
        if letter.payload is not None:
            sent.append(self.comm.isend(letter.payload.detach(), dst))
        while len(sent) > _UNREAD:
            sent.popleft().wait()

    def receive(self) -> Letter:
        header = torch.empty(8, dtype=torch.int64)
        src = self.comm.recv(header, next(self._sources))
        letter = Letter.from_header(header)
        if letter.payload is not None:
            self.comm.recv(letter.payload, src)
        return letter

    def now(self) -> float:
        return self.comm.now()

    def compute(self, seconds: float, label: str = "compute") -> None:
        self.comm.compute(seconds, label)

    def close(self) -> None:
        for sent in self._sent.values():
            while sent:
                sent.popleft().wait()
