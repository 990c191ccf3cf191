"""The wire: matches sends with receives, and gives every message its start and end on a network's ports.

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
from typing import Any

from course_lib.comm.collective import Label, agree
from course_lib.comm.errors import MismatchError, mismatch_error, order_error
from course_lib.comm.network import Network
from course_lib.comm.trace import Messages, pack_message


class WireOperation:
    """One side of a message: a send of `rank` to `peer`, or a receive of `rank` from `peer` (None: from anyone).

    `payload` is a tensor or anything else with `dtype`, `shape` and `nbytes`. Once the other side is there, `source`
    is the sender and `step` the message's; `end_s` is known once it has started, `done` true once it has ended.
    `collective` is the label of the collective that it belongs to, or None.
    """

    __slots__ = (
        "collective",
        "done",
        "end_s",
        "order",
        "payload",
        "peer",
        "ports",
        "posted_s",
        "rank",
        "source",
        "step",
        "step_seen",
        "where",
    )

    end_s: float
    posted_s: float
    order: int
    ports: tuple[int, ...]
    source: int
    step: int
    step_seen: int

    def __init__(
        self, rank: int, peer: int | None, payload: Any, where: Any = "", collective: Label | None = None
    ) -> None:
        self.rank = rank
        self.peer: Any = peer  # a rank, or None in a receive from anyone
        self.payload = payload
        self.where = where
        self.collective = collective
        self.done = False

    def location(self) -> str:
        """The line that posted it, in words."""
        return str(self.where)


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
        self._queues: dict[int, list[tuple[int, WireOperation, WireOperation]]] = {}  # port -> pairs that wait for it
        self._nth: dict[tuple[int, int], int] = {}
        self._ending: dict[float, list[tuple[WireOperation, WireOperation]]] = {}

    def settle(self) -> None:
        """Start what was matched at this moment, in order of sending, or let it wait for its ports in that order."""
        matched = self.matched
        if len(matched) > 1:
            matched.sort()
        for send_s, _, _, _, send, recv in matched:
            recv_s = recv.posted_s
            self._try_start(next(self._matches), send, recv, send_s if send_s > recv_s else recv_s)
        matched.clear()

    def advance(self) -> list[tuple[WireOperation, WireOperation]]:
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

    def _try_start(self, order: int, send: WireOperation, recv: WireOperation, now_s: float) -> None:
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


class Wire:
    """Messages between `world_size` ranks on `network`.

    A message starts when both sides have posted and its ports are free; where several wait for a port, the one that
    was matched first goes first. Of those matched at one moment it is the one sent first: by the time of the send, then
    by the sender's rank, then in the order in which its program (and then a function it started) posted them. So it
    does not matter in which order an executor hands in what is posted at one moment. Between one pair of ranks messages
    never overtake each other.

    Args:
        on_start: called with (send, receive) when a message starts.

    Attributes:
        steps_seen: for each rank the largest step it has completed; the executor raises it when a rank has waited.
    """

    # Slots: a copy, such as `sibling` makes, turns attributes in a __dict__ into ones that Python looks up by name.
    __slots__ = (
        "_anyone",
        "_arrivals",
        "_channels",
        "_matched",
        "_orders",
        "_ports",
        "_recvs",
        "_sends",
        "_stream",
        "_undecided",
        "steps_seen",
        "world_size",
    )

    def __init__(self, world_size: int, network: Network, on_start: Callable[..., Any] | None = None) -> None:
        self.world_size = world_size
        self._ports = Ports(world_size, network, on_start)
        self._matched = self._ports.matched
        self._undecided: dict[tuple[Wire, int], set[int]] = {}  # (wire, receiver from anyone) -> who else posted now
        self._orders = itertools.count()  # of what is posted
        self.steps_seen = [0] * world_size
        self._channels: dict[Hashable, Wire] = {}
        self._stream = 0  # that of programs; of what they start 1
        self._begin_empty()

    def _begin_empty(self) -> None:
        """Nothing waits for its other side: sends and named receives by receiver, then sender."""
        self._sends: dict[int, dict[int, deque[WireOperation]]] = defaultdict(_by_rank)
        self._recvs: dict[int, dict[int, deque[WireOperation]]] = defaultdict(_by_rank)
        self._anyone: dict[int, deque[WireOperation]] = {}  # receives from anyone, where there are some
        self._arrivals: dict[
            int, list[tuple[Any, ...]]
        ] = {}  # sends to who ever received from anyone, the earliest on top

    def sibling(self) -> Wire:
        """Another wire on the same ports and clock, whose operations meet only each other and count steps apart."""
        sibling = copy.copy(self)
        sibling.steps_seen = [0] * self.world_size
        sibling._channels = {}
        sibling._stream = self._stream + 1
        sibling._begin_empty()
        return sibling

    def channel(self, name: Hashable) -> Wire:
        """The wire of that name on the same ports and clock: its operations meet only each other, say a barrier's."""
        channel = self._channels.get(name)
        if channel is None:
            channel = self._channels[name] = self.sibling()
            channel.steps_seen, channel._stream = self.steps_seen, self._stream
        return channel

    def send(self, op: WireOperation, at_s: float) -> None:
        """Post a send. If its receive is there and the ports are free, the message starts at this moment."""
        src, dst = op.rank, op.peer
        op.posted_s, op.step_seen = at_s, self.steps_seen[src]
        named, order = self._recvs[dst].get(src), next(self._orders)
        if named and dst not in self._anyone:
            self._match(order, op, named.popleft())
            return
        op.order = order
        self._sends[dst][src].append(op)
        if dst in self._arrivals:
            heapq.heappush(self._arrivals[dst], (at_s, src, order, op))
            if dst in self._anyone:
                self._undecided.setdefault((self, dst), set()).add(src)

    def recv(self, op: WireOperation, at_s: float) -> None:
        """Post a receive. Without a peer it takes the earliest send to this rank, once this moment is over."""
        src, dst = op.peer, op.rank
        op.posted_s, op.step_seen = at_s, self.steps_seen[dst]
        if src is not None and dst not in self._anyone:
            found = self._sends[dst].get(src)
            if found:
                send = found.popleft()
                self._match(send.order, send, op)
            else:
                op.order = next(self._orders)
                self._recvs[dst][src].append(op)
            return
        op.order = next(self._orders)
        undecided = self._undecided.setdefault((self, dst), set())
        if src is not None:
            self._recvs[dst][src].append(op)
            undecided.add(src)
            return
        self._anyone.setdefault(dst, deque()).append(op)
        if dst not in self._arrivals:
            waiting = [one for queue in self._sends[dst].values() for one in queue]
            self._arrivals[dst] = sorted((one.posted_s, one.rank, one.order, one) for one in waiting)

    @property
    def messages(self) -> Messages:
        """All messages that have started, in order of their start."""
        return Messages(bytes(self._ports.rows))

    def take_messages(self) -> Messages:
        """The same at the end, when no more can start, without a copy."""
        return Messages(self._ports.rows)

    @property
    def next_end_s(self) -> float | None:
        """When the next message ends; None if no message is on the wire.

        Who asks says that this moment is over: all that was posted at it is matched, and what can start has started.
        """
        if self._undecided:
            self._settle_anyone()
        if self._matched:
            self._ports.settle()
        agenda = self._ports.agenda
        return agenda[0] if agenda else None

    def advance(self) -> list[tuple[WireOperation, WireOperation]]:
        """Go to `next_end_s`, which was asked for: end what ends then, start what waited for its ports.

        Returns the ended (send, receive) pairs, in order of their start.
        """
        return self._ports.advance()

    def unmatched(self) -> list[tuple[str, WireOperation]]:
        """Operations whose other side never came, as ("send" or "recv", operation), in order of posting."""
        self._settle_anyone()
        left = [pair for wire in (self, *self._channels.values()) for pair in wire._unmatched_here()]
        return sorted(left, key=lambda pair: pair[1].order)

    def _unmatched_here(self) -> list[tuple[str, WireOperation]]:
        left = [("send", op) for queues in self._sends.values() for queue in queues.values() for op in queue]
        left += [("recv", op) for queues in self._recvs.values() for queue in queues.values() for op in queue]
        return left + [("recv", op) for queue in self._anyone.values() for op in queue]

    def _match(self, order: int, send: WireOperation, recv: WireOperation) -> None:
        """The two sides of a message have met: it starts, or waits for its ports, once this moment is over."""
        if send.collective is not recv.collective and not agree(send.collective, recv.collective):
            labels = send.collective, recv.collective
            raise order_error(send.rank, labels[0], send.location(), recv.rank, labels[1], recv.location())
        sent, expected = send.payload, recv.payload
        if sent.shape != expected.shape or sent.dtype != expected.dtype:
            raise _mismatch(send, recv, *(f"{p.dtype} of shape {tuple(p.shape)}" for p in (sent, expected)))
        send.step = recv.step = 1 + (send.step_seen if send.step_seen > recv.step_seen else recv.step_seen)
        src = send.source = recv.source = send.rank
        self._matched.append((send.posted_s, src, self._stream, order, send, recv))

    def _settle_anyone(self) -> None:
        while self._undecided:
            (wire, dst), senders = self._undecided.popitem()
            wire._give_out(dst, senders)

    def _give_out(self, dst: int, senders: set[int]) -> None:
        """Give each send to `dst`, the earliest first, to the receive that was posted first, named or not."""
        anyone = self._anyone[dst]
        arrivals = self._arrivals[dst]
        sends = self._sends[dst]
        recvs = self._recvs[dst]
        while anyone and arrivals:
            _, src, order, send = heapq.heappop(arrivals)
            queue, named = sends[src], recvs.get(src)
            if queue and queue[0] is send:  # no named receive has taken it
                queue.popleft()
                first = named if named and named[0].order < anyone[0].order else anyone
                self._match(order, send, first.popleft())
        if not anyone:
            del self._anyone[dst]
        for src in senders:
            while (queue := sends[src]) and (named := recvs[src]):
                self._match(queue[0].order, queue.popleft(), named.popleft())


def one_without_payload(send: WireOperation, recv: WireOperation) -> MismatchError:
    """The error for a message of which one side only is a meta tensor, which has no payload."""
    kinds = {True: "a meta tensor, without payload", False: "a tensor with payload"}
    return _mismatch(send, recv, kinds[send.payload.is_meta], kinds[recv.payload.is_meta])


def of_two_carriers(send: WireOperation, recv: WireOperation) -> MismatchError:
    """The error for a message of which one side lies on the CPU and the other on an accelerator."""
    kinds = [
        "a tensor of the CPU, which Gloo carries"
        if side.payload.device.type == "cpu"
        else f"a tensor of {side.payload.device}, which NCCL carries: on NCCL both sides would wait for ever"
        for side in (send, recv)
    ]
    return _mismatch(send, recv, *kinds)


def _mismatch(send: WireOperation, recv: WireOperation, sent: str, expected: str) -> MismatchError:
    return mismatch_error(send.rank, sent, send.location(), recv.rank, expected, recv.location())


def _by_rank() -> dict[int, deque[WireOperation]]:
    """Queues of operations, by the other side's rank."""
    return defaultdict(deque)
