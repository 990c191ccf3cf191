"""Selective repeat: a window of messages on their way, each with a time-out of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from course_lib.faults.delivery.protocol import Receiver, Sender, time_out
from course_lib.faults.delivery.wire import Packet

__all__ = ["KeepOrder", "SelectiveRepeat"]


class SelectiveRepeat(Sender):
    """At most `window` messages lie between the oldest that is not acknowledged and the newest that has left.

    Raises:
        ValueError: if the window is less than 1, or `timeout_s` not more than 0.

    Source: D. Bertsekas and R. Gallager, "Data networks", 2nd edition, 1992, section 2.4.
    """

    def __init__(self, messages: Sequence[Any], timeout_s: float, window: int) -> None:
        if window < 1:
            raise ValueError(f"window must be at least 1, got {window}")
        time_out(0.0, timeout_s)
        self.messages = list(messages)
        self.timeout_s = timeout_s
        self.window = window
        self.following = 0  # the first that has never left
        self.due: dict[int, float] = {}  # when each message goes out again; without the acknowledged ones

    @property
    def finished(self) -> bool:
        return self.following == len(self.messages) and not self.due

    @property
    def due_s(self) -> float:  # type: ignore[override]
        """When the first of them goes out again."""
        return min(self.due.values(), default=float("inf"))

    def begin(self, now_s: float) -> list[Packet]:
        """New messages, as many as the window has room for."""
        end = min(min(self.due, default=self.following) + self.window, len(self.messages))
        fresh = range(self.following, end)
        self.following = max(self.following, end)
        return [self._send(number, now_s) for number in fresh]

    def ring(self, now_s: float) -> list[Packet]:
        return [self._send(number, now_s) for number, due_s in list(self.due.items()) if due_s <= now_s]

    def acknowledge(self, number: int, now_s: float) -> list[Packet]:
        self.due.pop(number, None)
        return self.begin(now_s)

    def _send(self, number: int, now_s: float) -> Packet:
        self.due[number] = time_out(now_s, self.timeout_s)
        return Packet(number, self.messages[number])


class KeepOrder(Receiver):
    """Keeps what comes early until all before it are there; what it has had it only acknowledges again."""

    def __init__(self) -> None:
        super().__init__()
        self.early: dict[int, Any] = {}

    def take(self, packet: Packet) -> Packet:
        if packet.number >= len(self.delivered):
            self.early[packet.number] = packet.payload
        while len(self.delivered) in self.early:
            self.delivered.append(self.early.pop(len(self.delivered)))
        return Packet(packet.number)
