"""The two ends of a protocol: state machines that get packets and a clock, and give packets."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any

from course_lib.faults.delivery.wire import Packet

__all__ = ["Receiver", "Sender"]


class Sender(ABC):
    """Whoever has messages to deliver. Its methods return the packets that leave now.

    Attributes:
        due_s: when `ring` is to be called, if nothing happens before; infinite: never.
    """

    due_s: float = math.inf

    @property
    @abstractmethod
    def finished(self) -> bool:
        """True once it need not send any more."""

    @abstractmethod
    def begin(self, now_s: float) -> list[Packet]:
        """The first packets."""

    @abstractmethod
    def acknowledge(self, number: int, now_s: float) -> list[Packet]:
        """What leaves because this number was acknowledged."""

    @abstractmethod
    def ring(self, now_s: float) -> list[Packet]:
        """What leaves because no acknowledgment came in time."""


class Receiver(ABC):
    """Whoever gets the messages.

    Attributes:
        delivered: the messages in the order in which they were handed to the program above.
    """

    def __init__(self) -> None:
        self.delivered: list[Any] = []

    @abstractmethod
    def take(self, packet: Packet) -> Packet:
        """Deliver what can be delivered now; the acknowledgment of what came."""
