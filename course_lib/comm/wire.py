"""The wire: matches sends with receives and gives every message its start and end on a network.

It knows no tensors, processes or clocks of its own: an executor posts operations with their times, asks for the next
time at which messages end, and wakes its ranks. The simulator, the emulator and the grading judge all use this one.
"""

from __future__ import annotations

import copy
import heapq
import itertools
import math
from collections import defaultdict, deque
from collections.abc import Callable, Hashable

from course_lib.comm.errors import mismatch_error
from course_lib.comm.messages import Messages, pack_message
from course_lib.comm.network import Network
from course_lib.comm.operation import Operation

__all__ = ["Wire"]


class Wire:
    """Messages between `world_size` ranks on `network`.

    A message starts when both sides have posted and its ports are free; where several wait for a port, the one that
    was matched first goes first. Between one pair of ranks messages never overtake each other.

    Args:
        on_start: called with (send, receive) when a message starts.

    Attributes:
        steps_seen: for each rank the largest step it has completed; the executor raises it when a rank has waited.
    """

    # Slots: a copy, such as `sibling` makes, turns attributes in a __dict__ into ones that Python looks up by name.
    __slots__ = (
        "_agenda",
        "_bytes_per_s",
        "_channels",
        "_ending",
        "_free_s",
        "_latency_s",
        "_matches",
        "_nth",
        "_on_start",
        "_orders",
        "_plain",
        "_queues",
        "_recvs",
        "_recvs_from_anyone",
        "_rows",
        "_sends",
        "network",
        "steps_seen",
        "world_size",
    )

    def __init__(self, world_size: int, network: Network, on_start: Callable | None = None) -> None:
        self.world_size, self.network, self._on_start = world_size, network, on_start
        self._rows = bytearray()  # of the table of messages that have started
        self.steps_seen = [0] * world_size
        self._plain, self._latency_s, self._bytes_per_s = network.plain, network.latency_s, network.bytes_per_s
        self._channels: dict[Hashable, Wire] = {}
        self._begin_empty()
        self._orders = itertools.count()  # of what waits for its other side
        self._matches = itertools.count()
        self._free_s = [0.0] * (4 * world_size)  # by port: when its last message ended; infinite while one is on it
        self._queues: dict[int, list[tuple[int, Operation, Operation]]] = {}  # port -> pairs that wait for it
        self._nth: dict[tuple[int, int], int] = {}
        self._agenda: list[float] = []
        self._ending: dict[float, list[tuple[Operation, Operation]]] = {}

    def _begin_empty(self) -> None:
        """Nothing waits for its other side: sends and named receives by receiver, then sender."""
        self._sends: dict[int, dict[int, deque[Operation]]] = defaultdict(_by_rank)
        self._recvs: dict[int, dict[int, deque[Operation]]] = defaultdict(_by_rank)
        self._recvs_from_anyone: dict[int, deque[Operation]] = defaultdict(deque)

    def sibling(self) -> Wire:
        """Another wire on the same ports and clock, whose operations meet only each other and count steps apart."""
        sibling = copy.copy(self)
        sibling.steps_seen, sibling._channels = [0] * self.world_size, {}
        sibling._begin_empty()
        return sibling

    def channel(self, name: Hashable) -> Wire:
        """The wire of that name on the same ports and clock: its operations meet only each other, say a barrier's."""
        channel = self._channels.get(name)
        if channel is None:
            channel = self._channels[name] = self.sibling()
            channel.steps_seen = self.steps_seen
        return channel

    def send(self, op: Operation, at_s: float) -> None:
        """Post a send. If its receive is there and the ports are free, the message starts now."""
        src, dst = op.rank, op.peer
        op.posted_s, op.step_seen = at_s, self.steps_seen[src]
        named, anyone = self._recvs[dst].get(src), self._recvs_from_anyone.get(dst)
        if named and not (anyone and anyone[0].order < named[0].order):
            self._match(op, named.popleft())
        elif anyone:
            self._match(op, anyone.popleft())
        else:
            op.order = next(self._orders)
            self._sends[dst][src].append(op)

    def recv(self, op: Operation, at_s: float) -> None:
        """Post a receive. Without a peer it takes the earliest send that waits for this rank."""
        src, dst = op.peer, op.rank
        op.posted_s, op.step_seen = at_s, self.steps_seen[dst]
        sends = self._sends[dst]
        if src is None:
            found = min((q for q in sends.values() if q), key=lambda q: (q[0].posted_s, q[0].order), default=None)
        else:
            found = sends.get(src)
        if found:
            self._match(found.popleft(), op)
            return
        op.order = next(self._orders)
        if src is None:
            self._recvs_from_anyone[dst].append(op)
        else:
            self._recvs[dst][src].append(op)

    @property
    def messages(self) -> Messages:
        """All messages that have started, in order of their start."""
        return Messages(bytes(self._rows))

    def take_messages(self) -> Messages:
        """The same at the end, when no more can start, without a copy."""
        return Messages(self._rows)

    @property
    def next_end_s(self) -> float | None:
        """When the next message ends; None if no message is on the wire."""
        return self._agenda[0] if self._agenda else None

    def advance(self) -> list[tuple[Operation, Operation]]:
        """Go to `next_end_s`: end the messages that end then, start those that waited for their ports.

        Returns the ended (send, receive) pairs, in order of their start.
        """
        now_s = heapq.heappop(self._agenda)
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

    def unmatched(self) -> list[tuple[str, Operation]]:
        """Operations whose other side never came, as ("send" or "recv", operation), in order of posting."""
        left = [pair for wire in (self, *self._channels.values()) for pair in wire._unmatched_here()]
        return sorted(left, key=lambda pair: pair[1].order)

    def _unmatched_here(self) -> list[tuple[str, Operation]]:
        left = [("send", op) for queues in self._sends.values() for queue in queues.values() for op in queue]
        left += [("recv", op) for queues in self._recvs.values() for queue in queues.values() for op in queue]
        return left + [("recv", op) for queue in self._recvs_from_anyone.values() for op in queue]

    def _match(self, send: Operation, recv: Operation) -> None:
        sent, expected = send.payload, recv.payload
        if sent.shape != expected.shape or sent.dtype != expected.dtype:
            texts = [f"{p.dtype} of shape {tuple(p.shape)}" for p in (sent, expected)]
            raise mismatch_error(send.rank, texts[0], send.location(), recv.rank, texts[1], recv.location())
        send_s, recv_s = send.posted_s, recv.posted_s
        send.step = recv.step = 1 + (send.step_seen if send.step_seen > recv.step_seen else recv.step_seen)
        send.source = recv.source = send.rank
        self._try_start(next(self._matches), send, recv, send_s if send_s > recv_s else recv_s)

    def _try_start(self, order: int, send: Operation, recv: Operation, now_s: float) -> None:
        """Start the message if all its ports are free, else let it wait at the first busy one."""
        src, dst, message_bytes, free_s = send.rank, recv.rank, send.payload.nbytes, self._free_s
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
        self._rows += pack_message(src, dst, message_bytes, send.posted_s, recv.posted_s, send.step, now_s, end_s)
        ending = self._ending.get(end_s)
        if ending is None:
            ending = self._ending[end_s] = []
            heapq.heappush(self._agenda, end_s)
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


def _by_rank() -> dict[int, deque[Operation]]:
    """Queues of operations, by the other side's rank."""
    return defaultdict(deque)
