"""The two ends of a protocol: state machines that get packets and a clock, and give packets; and two without rules."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from course_lib.faults.delivery.wire import Packet

__all__ = ["KeepAll", "Receiver", "SendOnce", "Sender", "time_out"]


class Sender:
    """Whoever has messages to deliver. Its methods return the packets that leave now.

    Attributes:
        due_s: when `ring` is to be called, if nothing happens before; infinite: never.
    """

    due_s: float = math.inf

    @property
    def finished(self) -> bool:
        """True once it need not send any more."""
        return True

    def begin(self, now_s: float) -> list[Packet]:
        """The first packets."""
        raise NotImplementedError

    def acknowledge(self, number: int, now_s: float) -> list[Packet]:
        """What leaves because this number was acknowledged."""
        return []

    def ring(self, now_s: float) -> list[Packet]:
        """What leaves because no acknowledgment came in time."""
        return []


class Receiver:
    """Whoever gets the messages.

    Attributes:
        delivered: the messages in the order in which they were handed to the program above.
    """

    def __init__(self) -> None:
        self.delivered: list[Any] = []

    def take(self, packet: Packet) -> Packet:
        """Deliver what can be delivered now; the acknowledgment of what came."""
        raise NotImplementedError


def time_out(now_s: float, timeout_s: float) -> float:
    """When so much time will have passed.

    Raises:
        ValueError: if that is now: whoever repeats at once repeats for ever.

    >>> time_out(2.0, timeout_s=0.5)
    2.5
    """
    if not now_s + timeout_s > now_s:
        raise ValueError(f"timeout_s must be more than 0, and enough to move a clock at {now_s:g} s, got {timeout_s}")
    return now_s + timeout_s


class SendOnce(Sender):
    """Each message leaves once, and nobody listens for an answer: at most once, where nothing is doubled."""

    def __init__(self, messages: Sequence[Any]) -> None:
        self.messages = list(messages)

    def begin(self, now_s: float) -> list[Packet]:
        return [Packet(number, message) for number, message in enumerate(self.messages)]


class KeepAll(Receiver):
    """Delivers whatever comes, as it comes: with a sender that repeats, at least once."""

    def take(self, packet: Packet) -> Packet:
        self.delivered.append(packet.payload)
        return Packet(packet.number)
