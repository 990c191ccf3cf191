"""The wire: matches sends with receives and gives every message its start and end on a network.

It knows no tensors, processes or clocks of its own: an executor posts operations with their times, asks for the next
time at which messages end, and wakes its ranks. The simulator, the emulator and the grading judge all use this one.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable
from typing import Any

from course_lib.comm.errors import mismatch_error
from course_lib.comm.network import Network
from course_lib.comm.trace import Message

__all__ = ["Operation", "Wire"]


class Operation:
    """One side of a message: a send of `rank` to `peer`, or a receive of `rank` from `peer` (None: from anyone).

    `payload` is a tensor or anything else with `dtype`, `shape` and `nbytes`. `message` is set once the other side is
    there, `done` once the message has ended.
    """

    __slots__ = ("done", "message", "order", "payload", "peer", "posted_s", "rank", "step_seen", "where")

    def __init__(self, rank: int, peer: int | None, payload: Any, where: Any = "") -> None:
        self.rank, self.peer, self.payload, self.where = rank, peer, payload, where
        self.message: Message | None = None
        self.done = False


class Wire:
    """Messages between `world_size` ranks on `network`.

    A message starts when both sides have posted and its ports are free; where several wait for a port, the one that
    was matched first goes first. Between one pair of ranks messages never overtake each other.

    Args:
        on_start: called with (send, receive) when a message starts.

    Attributes:
        messages: all messages that have started, in order of their start.
        steps_seen: for each rank the largest step it has completed; the executor raises it when a rank has waited.
    """

    def __init__(self, world_size: int, network: Network, on_start: Callable | None = None) -> None:
        self.world_size, self.network, self._on_start = world_size, network, on_start
        self.messages: list[Message] = []
        self.steps_seen = [0] * world_size
        self._plain = network.plain
        self._sends: list[dict[int, deque[Operation]]] = [{} for _ in range(world_size)]  # by receiver, then sender
        self._recvs: list[dict[int | None, deque[Operation]]] = [{} for _ in range(world_size)]  # likewise
        self._posts = 0
        self._matches = 0
        self._busy = [False] * (4 * world_size)  # by port number
        self._free_s = [0.0] * (4 * world_size)  # when the port's last message ends
        self._queues: dict[int, list[tuple[int, Operation, Operation]]] = {}  # port -> pairs that wait for it
        self._nth: dict[tuple[int, int], int] = {}
        self._agenda: list[float] = []
        self._ending: dict[float, list[tuple[Operation, Operation]]] = {}

    def send(self, op: Operation, at_s: float) -> None:
        """Post a send. If its receive is there and the ports are free, the message starts now."""
        dst = op.peer
        assert dst is not None
        self._stamp(op, at_s)
        waiting = self._recvs[dst]
        named, anyone = waiting.get(op.rank), waiting.get(None)
        if anyone and not (named and named[0].order < anyone[0].order):
            self._match(op, anyone.popleft(), at_s)
        elif named:
            self._match(op, named.popleft(), at_s)
        else:
            self._queue(self._sends[dst], op.rank, op)

    def recv(self, op: Operation, at_s: float) -> None:
        """Post a receive. Without a peer it takes the earliest send that waits for this rank."""
        self._stamp(op, at_s)
        waiting = self._sends[op.rank]
        if op.peer is not None:
            found = waiting.get(op.peer)
        else:
            found = min((q for q in waiting.values() if q), key=lambda q: (q[0].posted_s, q[0].order), default=None)
        if found:
            self._match(found.popleft(), op, at_s)
        else:
            self._queue(self._recvs[op.rank], op.peer, op)

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
        freed = []
        busy, queues = self._busy, self._queues
        for send, recv in ended:
            send.done = recv.done = True
            for port in self._ports(send.rank, recv.rank):
                busy[port] = False
                if queues and port in queues:
                    freed.append(port)
        if freed:
            self._start_queued(freed, now_s)
        return ended

    def unmatched(self) -> list[tuple[str, Operation]]:
        """Operations whose other side never came, as ("send" or "recv", operation), in order of posting."""
        left = [("send", op) for queues in self._sends for queue in queues.values() for op in queue]
        left += [("recv", op) for queues in self._recvs for queue in queues.values() for op in queue]
        return sorted(left, key=lambda pair: pair[1].order)

    def _stamp(self, op: Operation, at_s: float) -> None:
        op.posted_s, op.order, op.step_seen = at_s, self._posts, self.steps_seen[op.rank]
        self._posts += 1

    @staticmethod
    def _queue(queues: dict, key: int | None, op: Operation) -> None:
        queue = queues.get(key)
        if queue is None:
            queue = queues[key] = deque()
        queue.append(op)

    def _match(self, send: Operation, recv: Operation, now_s: float) -> None:
        sent, expected = send.payload, recv.payload
        if sent.dtype != expected.dtype or sent.shape != expected.shape:
            texts = [f"{p.dtype} of shape {tuple(p.shape)}" for p in (sent, expected)]
            raise mismatch_error(send.rank, texts[0], str(send.where), recv.rank, texts[1], str(recv.where))
        step = 1 + (send.step_seen if send.step_seen > recv.step_seen else recv.step_seen)
        message = Message(send.rank, recv.rank, sent.nbytes, send.posted_s, recv.posted_s, step)
        send.message = recv.message = message
        self._matches += 1
        self._try_start(self._matches, send, recv, max(send.posted_s, recv.posted_s))

    def _ports(self, src: int, dst: int) -> tuple[int, ...]:
        if self._plain:
            return src, self.world_size + dst
        return self.network.ports(src, dst, self.world_size)

    def _seconds(self, src: int, dst: int, message_bytes: int) -> float:
        network = self.network
        if self._plain:
            return network.latency_s + message_bytes / network.bytes_per_s
        nth = self._nth[src, dst] = self._nth.get((src, dst), -1) + 1
        return network.seconds(src, dst, message_bytes, nth)

    def _try_start(self, order: int, send: Operation, recv: Operation, now_s: float) -> None:
        """Start the message if all its ports are free, else let it wait at the first busy one."""
        src, dst, busy = send.rank, recv.rank, self._busy
        ports = self._ports(src, dst)
        for port in ports:
            if busy[port]:
                heapq.heappush(self._queues.setdefault(port, []), (order, send, recv))
                return
            if self._free_s[port] > now_s:  # only where posts arrive late, in the emulator
                now_s = self._free_s[port]
        message = send.message
        assert message is not None
        message.start_s = now_s
        message.end_s = end_s = now_s + self._seconds(src, dst, message.message_bytes)
        for port in ports:
            busy[port], self._free_s[port] = True, end_s
        self.messages.append(message)
        if end_s in self._ending:
            self._ending[end_s].append((send, recv))
        else:
            self._ending[end_s] = [(send, recv)]
            heapq.heappush(self._agenda, end_s)
        if self._on_start is not None:
            self._on_start(send, recv)

    def _start_queued(self, freed: list[int], now_s: float) -> None:
        """Start waiting messages on the freed ports, in the order in which they were matched."""
        heads = [(self._queues[port][0][0], port) for port in freed]
        heapq.heapify(heads)
        while heads:
            _, port = heapq.heappop(heads)
            queue = self._queues[port]
            if not self._busy[port]:
                self._try_start(*heapq.heappop(queue), now_s)
            if queue and not self._busy[port]:
                heapq.heappush(heads, (queue[0][0], port))
            if not queue:
                del self._queues[port]
