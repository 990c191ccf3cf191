"""The ports of a network: when messages whose two sides have met start, and when they end."""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Callable
from typing import Any

from course_lib.comm.messages import pack_message
from course_lib.comm.network import Network
from course_lib.comm.operation import Operation

__all__ = ["Ports"]


class Ports:
    """The ports of `world_size` ranks and of their nodes. Each carries one message at a time.

    Args:
        on_start: called with (send, receive) when a message starts.

    Attributes:
        matched: what was matched at this moment: tuples that are in order of sending and end with (send, receive).
        agenda: the times at which messages end, as a heap.
        rows: the table of messages that have started.
    """

    __slots__ = (
        "_bytes_per_s",
        "_ending",
        "_free_s",
        "_latency_s",
        "_matches",
        "_nth",
        "_on_start",
        "_plain",
        "_queues",
        "agenda",
        "matched",
        "network",
        "rows",
        "world_size",
    )

    def __init__(self, world_size: int, network: Network, on_start: Callable[..., Any] | None) -> None:
        network.check_ranks(world_size)
        self.world_size = world_size
        self.network = network
        self._on_start = on_start
        self._plain = network.plain
        self._latency_s = network.latency_s
        self._bytes_per_s = network.bytes_per_s
        self.rows = bytearray()
        self.matched: list[tuple[Any, ...]] = []
        self.agenda: list[float] = []
        self._matches = itertools.count()
        self._free_s = [0.0] * (4 * world_size)  # by port: when its last message ended; infinite while one is on it
        self._queues: dict[int, list[tuple[int, Operation, Operation]]] = {}  # port -> pairs that wait for it
        self._nth: dict[tuple[int, int], int] = {}
        self._ending: dict[float, list[tuple[Operation, Operation]]] = {}

    def settle(self) -> None:
        """Start what was matched at this moment, in order of sending, or let it wait for its ports in that order."""
        matched = self.matched
        if len(matched) > 1:
            matched.sort()
        for send_s, _, _, _, send, recv in matched:
            recv_s = recv.posted_s
            self._try_start(next(self._matches), send, recv, send_s if send_s > recv_s else recv_s)
        matched.clear()

    def advance(self) -> list[tuple[Operation, Operation]]:
        """End the messages that end next, start those that waited for their ports; returns the ended ones."""
        now_s = heapq.heappop(self.agenda)
        ended = self._ending.pop(now_s)
        free_s = self._free_s
        for send, recv in ended:
            send.done = recv.done = True
            for port in send.ports:
                free_s[port] = now_s
        if self._queues:
            freed = [port for send, _ in ended for port in send.ports if port in self._queues]
            self._start_queued(freed, now_s)
        return ended

    def _try_start(self, order: int, send: Operation, recv: Operation, now_s: float) -> None:
        """Start the message if all its ports are free, else let it wait at the first busy one."""
        src = send.rank
        dst = recv.rank
        message_bytes = send.payload.nbytes
        free_s = self._free_s
        ports = (src, self.world_size + dst) if self._plain else self.network.ports(src, dst, self.world_size)
        for port in ports:
            if free_s[port] > now_s:
                if free_s[port] == math.inf:
                    heapq.heappush(self._queues.setdefault(port, []), (order, send, recv))
                    return
                now_s = free_s[port]  # only where posts arrive late, in the emulator
        if self._plain:
            end_s = now_s + (self._latency_s + message_bytes / self._bytes_per_s)
        else:
            end_s = now_s + self._seconds(src, dst, message_bytes)
        for port in ports:
            free_s[port] = math.inf
        send.end_s = recv.end_s = end_s
        send.ports = ports
        self.rows += pack_message(src, dst, message_bytes, send.posted_s, recv.posted_s, send.step, now_s, end_s)
        ending = self._ending.get(end_s)
        if ending is None:
            ending = self._ending[end_s] = []
            heapq.heappush(self.agenda, end_s)
        ending.append((send, recv))
        if self._on_start is not None:
            self._on_start(send, recv)

    def _seconds(self, src: int, dst: int, message_bytes: int) -> float:
        link = src, dst
        nth = self._nth[link] = self._nth.get(link, -1) + 1
        return self.network.seconds(src, dst, message_bytes, nth)

    def _start_queued(self, freed: list[int], now_s: float) -> None:
        """Start waiting messages on the freed ports, in the order in which they were matched."""
        heads = [(self._queues[port][0][0], port) for port in freed]
        heapq.heapify(heads)
        while heads:
            _, port = heapq.heappop(heads)
            queue = self._queues[port]
            if self._free_s[port] <= now_s:
                self._try_start(*heapq.heappop(queue), now_s)
            if queue and self._free_s[port] <= now_s:
                heapq.heappush(heads, (queue[0][0], port))
            if not queue:
                del self._queues[port]
