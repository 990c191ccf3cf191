"""What happens without a protocol: a sender that hopes, and a receiver that believes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from course_lib.faults.delivery.protocol import Receiver, Sender
from course_lib.faults.delivery.wire import Packet

__all__ = ["KeepAll", "SendOnce"]


class SendOnce(Sender):
    """Each message leaves once, and nobody listens for an answer: at most once, where nothing is doubled."""

    def __init__(self, messages: Sequence[Any]) -> None:
        self.messages = list(messages)

    @property
    def finished(self) -> bool:
        return True

    def begin(self, now_s: float) -> list[Packet]:
        return [Packet(number, message) for number, message in enumerate(self.messages)]

    def acknowledge(self, number: int, now_s: float) -> list[Packet]:
        return []

    def ring(self, now_s: float) -> list[Packet]:
        return []


class KeepAll(Receiver):
    """Delivers whatever comes, as it comes: with a sender that repeats, at least once."""

    def take(self, packet: Packet) -> Packet:
        self.delivered.append(packet.payload)
        return Packet(packet.number)
