"""Delivery protocols as state machines: at most once, at least once, exactly once (stop-and-wait, selective repeat).

Stop-and-wait sends one message until it is acknowledged, then the next:

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

from course_lib.faults.delivery.lossy_wire import Packet


class Sender:
    """The sending end of a protocol: a state machine whose methods return the packets that leave now.

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
        """Handle a time-out: the packets that are retransmitted."""
        return []


class Receiver:
    """The receiving end of a protocol: it delivers messages and acknowledges packets.

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
