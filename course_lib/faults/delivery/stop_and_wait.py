"""Stop-and-wait: send one message until it is acknowledged, then the next.

    sender      0 ──────────╳                  lost on the way
                  ... time-out ...
                0 ─────────────────→  receiver   "0 is next": delivered
                      ╳───────────── 0           the acknowledgment is lost
                  ... time-out ...
                0 ─────────────────→             "0 I had": not delivered, but acknowledged again
                ←─────────────────── 0
                1 ─────────────────→

Repeating makes it at least once, numbers make it at most once: together exactly once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from course_lib.faults.delivery.protocol import Receiver, Sender, time_out
from course_lib.faults.delivery.wire import Packet

__all__ = ["KeepNext", "StopAndWait"]

MANY = 2**32  # as many sequence numbers as TCP has


class StopAndWait(Sender):
    """One message is on its way at any time.

    Args:
        messages: what to deliver, in order.
        timeout_s: repeat after so long without an acknowledgment. Too short costs packets, too long costs time.
        numbers: how many sequence numbers there are; after the last one the first is used again.

    Source: K. Bartlett, R. Scantlebury and P. Wilkinson, "A note on reliable full-duplex transmission over half-duplex
    links", CACM 12(5), 1969 (two sequence numbers: the alternating bit).

    Raises:
        ValueError: if `timeout_s` is not more than 0, or `numbers` less than 1.
    """

    def __init__(self, messages: Sequence[Any], timeout_s: float, numbers: int = MANY) -> None:
        if numbers < 1:
            raise ValueError(f"numbers must be at least 1, got {numbers}")
        time_out(0.0, timeout_s)
        self.messages = list(messages)
        self.timeout_s = timeout_s
        self.numbers = numbers
        self.current = 0

    @property
    def finished(self) -> bool:
        return self.current == len(self.messages)

    def begin(self, now_s: float) -> list[Packet]:
        """The current message, and a new time-out; nothing after the last one."""
        if self.finished:
            self.due_s = math.inf
            return []
        self.due_s = time_out(now_s, self.timeout_s)
        return [Packet(self.current % self.numbers, self.messages[self.current])]

    def ring(self, now_s: float) -> list[Packet]:
        return self.begin(now_s)

    def acknowledge(self, number: int, now_s: float) -> list[Packet]:
        if self.finished or number != self.current % self.numbers:
            return []  # of an earlier message: it came late, or twice
        self.current += 1
        return self.begin(now_s)


class KeepNext(Receiver):
    """Delivers only the number that is next, and acknowledges whatever comes: its sender may not know that it came."""

    def __init__(self, numbers: int = MANY) -> None:
        super().__init__()
        self.numbers = numbers

    def take(self, packet: Packet) -> Packet:
        if packet.number == len(self.delivered) % self.numbers:
            self.delivered.append(packet.payload)
        return Packet(packet.number)
