"""The wire: matches sends with receives and gives every message its start and end on a network.

It knows no tensors, processes or clocks of its own: an executor posts operations with their times, asks for the next
time at which messages end, and wakes its ranks. The simulator, the emulator and the grading judge all use this one.
"""

from __future__ import annotations

import copy
import heapq
import itertools
from collections import defaultdict, deque
from collections.abc import Callable, Hashable
from typing import Any

from course_lib.comm.collective import agree
from course_lib.comm.errors import MismatchError, mismatch_error, order_error
from course_lib.comm.messages import Messages
from course_lib.comm.network import Network
from course_lib.comm.operation import Operation
from course_lib.comm.ports import Ports

__all__ = ["Wire", "of_two_carriers", "one_without_payload"]


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
        self._sends: dict[int, dict[int, deque[Operation]]] = defaultdict(_by_rank)
        self._recvs: dict[int, dict[int, deque[Operation]]] = defaultdict(_by_rank)
        self._anyone: dict[int, deque[Operation]] = {}  # receives from anyone, where there are some
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

    def send(self, op: Operation, at_s: float) -> None:
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

    def recv(self, op: Operation, at_s: float) -> None:
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

    def advance(self) -> list[tuple[Operation, Operation]]:
        """Go to `next_end_s`, which was asked for: end what ends then, start what waited for its ports.

        Returns the ended (send, receive) pairs, in order of their start.
        """
        return self._ports.advance()

    def unmatched(self) -> list[tuple[str, Operation]]:
        """Operations whose other side never came, as ("send" or "recv", operation), in order of posting."""
        self._settle_anyone()
        left = [pair for wire in (self, *self._channels.values()) for pair in wire._unmatched_here()]
        return sorted(left, key=lambda pair: pair[1].order)

    def _unmatched_here(self) -> list[tuple[str, Operation]]:
        left = [("send", op) for queues in self._sends.values() for queue in queues.values() for op in queue]
        left += [("recv", op) for queues in self._recvs.values() for queue in queues.values() for op in queue]
        return left + [("recv", op) for queue in self._anyone.values() for op in queue]

    def _match(self, order: int, send: Operation, recv: Operation) -> None:
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


def one_without_payload(send: Operation, recv: Operation) -> MismatchError:
    """The error for a message of which one side only is a meta tensor, which has no payload."""
    kinds = {True: "a meta tensor, without payload", False: "a tensor with payload"}
    return _mismatch(send, recv, kinds[send.payload.is_meta], kinds[recv.payload.is_meta])


def of_two_carriers(send: Operation, recv: Operation) -> MismatchError:
    """The error for a message of which one side lies on the CPU and the other on an accelerator."""
    kinds = [
        "a tensor of the CPU, which Gloo carries"
        if side.payload.device.type == "cpu"
        else f"a tensor of {side.payload.device}, which NCCL carries: on NCCL both sides would wait for ever"
        for side in (send, recv)
    ]
    return _mismatch(send, recv, *kinds)


def _mismatch(send: Operation, recv: Operation, sent: str, expected: str) -> MismatchError:
    return mismatch_error(send.rank, sent, send.location(), recv.rank, expected, recv.location())


def _by_rank() -> dict[int, deque[Operation]]:
    """Queues of operations, by the other side's rank."""
    return defaultdict(deque)
