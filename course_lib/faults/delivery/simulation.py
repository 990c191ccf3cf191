"""A sender and a receiver on a wire, in virtual time."""

from __future__ import annotations

import heapq
import itertools
import random
from dataclasses import dataclass
from typing import Any, NamedTuple

from course_lib.faults.delivery.lossy_wire import LossyWire, Packet
from course_lib.faults.delivery.protocols import Receiver, Sender


class Crossing(NamedTuple):
    """A packet on the wire: when it left, whether toward the receiver, and when its copies arrived; none: lost.

    `latency_s` is its wire's.
    """

    packet: Packet
    forth: bool
    left_s: float
    arrived_s: tuple[float, ...]
    latency_s: float


@dataclass(frozen=True)
class Delivery:
    """What came out, simulated.

    Attributes:
        delivered: the messages as the program above the receiver got them.
        crossings: every packet that left, in order.
        delivered_s: when the last message was delivered.
        seconds: when the sender knew it; from the beginning, where it does not ask.
    """

    delivered: list[Any]
    crossings: list[Crossing]
    delivered_s: float
    seconds: float
    origin: str = "simulated"

    @property
    def transmissions(self) -> int:
        """Packets that the sender sent."""
        return sum(crossing.forth for crossing in self.crossings)


class _Direction:
    """One direction with its own draws, so that what happens on the other does not change them."""

    def __init__(self, wire: LossyWire, forth: bool, seed: int) -> None:
        self.wire = wire
        self.forth = forth
        self.draw = random.Random(f"{seed} {forth}")
        self.free_s = 0.0

    def send(self, packet: Packet, now_s: float) -> Crossing:
        """The packet leaves once those before it have left."""
        self.free_s = max(now_s, self.free_s) + self.wire.send_s
        arrived_s = tuple(self.wire.arrivals(self.free_s, self.draw))
        return Crossing(packet, self.forth, self.free_s, arrived_s, self.wire.latency_s)


def deliver(
    sender: Sender, receiver: Receiver, forth: LossyWire, back: LossyWire | None = None, *, seed: int = 0
) -> Delivery:
    """Let sender and receiver talk until nothing is on its way and the sender wants no more.

    Args:
        back: the wire for acknowledgments; None: like `forth`.

    >>> from course_lib.faults.delivery import KeepNext, StopAndWait
    >>> delivery = deliver(StopAndWait("abc", timeout_s=3), KeepNext(), LossyWire(lose=0.5), seed=1)
    >>> "".join(delivery.delivered), delivery.transmissions
    ('abc', 5)
    """
    ways = {True: _Direction(forth, True, seed), False: _Direction(back or forth, False, seed)}
    crossings: list[Crossing] = []
    under_way: list[tuple[float, int, bool, Packet]] = []
    order = itertools.count()
    delivered_s = finished_s = 0.0

    def post(packets: list[Packet], forth: bool, now_s: float) -> None:
        for packet in packets:
            crossings.append(ways[forth].send(packet, now_s))
            for at_s in crossings[-1].arrived_s:
                heapq.heappush(under_way, (at_s, next(order), forth, packet))

    post(sender.begin(0.0), True, 0.0)
    while under_way or sender.due_s < float("inf"):
        waits = not sender.finished
        if not under_way or sender.due_s < under_way[0][0]:
            now_s = sender.due_s
            post(sender.ring(now_s), True, now_s)
        else:
            now_s, _, toward_receiver, packet = heapq.heappop(under_way)
            if toward_receiver:
                before = len(receiver.delivered)
                post([receiver.take(packet)], False, now_s)
                delivered_s = now_s if len(receiver.delivered) > before else delivered_s
            else:
                post(sender.acknowledge(packet.number, now_s), True, now_s)
        finished_s = now_s if waits else finished_s
    return Delivery(receiver.delivered, crossings, delivered_s, finished_s)
