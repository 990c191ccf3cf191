"""Actors: state machines that answer messages with messages, and the one loop in which every one of them lives.

Source: C. Hewitt, P. Bishop and R. Steiger, "A universal modular actor formalism", IJCAI 1973.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from course_lib.parameter_server.mailbox import Mailbox
from course_lib.parameter_server.messages import Message

__all__ = ["Actor", "Outbox", "run_actor"]

Outbox = list[tuple[int, Message]]  # messages and whom they go to


class Actor(ABC):
    """Who lives at an address: a machine without input or output of its own. Messages go in, messages come out."""

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
    """Let `actor` live at `mailbox` until it has finished: receive, handle, send what it answers."""
    for dst, answer in actor.begin():
        mailbox.send(dst, answer)
    while not actor.finished:
        message = mailbox.receive()
        for dst, answer in actor.handle(message, mailbox.now()):
            mailbox.send(dst, answer)
    mailbox.close()
