"""One rank as the judge knows it (`Peer`: a socket, and what waits for it), and its requests, parsed from its frames.

Nothing of it is trusted: whatever is out of range is refused.
"""

from __future__ import annotations

import re
from collections import deque
from typing import Any

from course_lib.comm.errors import Pending
from course_lib.comm.wire import WireOperation
from course_lib.grading.exercise import Failure
from course_lib.grading.judge.launcher import RankProcess
from course_lib.grading.sandbox.frames import MAX_BODY_BYTES, FrameError, Payload, split

READ_BYTES = 1 << 18


class StopTrial(Exception):
    """Ends the trial with this failure."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.text)
        self.failure = failure


class Posted(WireOperation):
    """A send or receive that a rank has posted, with the rank's own number for it.

    `ready_s` is the rank's clock then; `tainted` says that the rank, or the message, was downstream of a changed one.
    `channel` names the barrier or group that it belongs to, if to one: those meet only each other.
    """

    __slots__ = ("channel", "handle", "ready_s", "tainted", "verb")
    payload: Payload
    ready_s: float
    tainted: bool

    def __init__(
        self,
        rank: int,
        peer: int | None,
        payload: Payload,
        where: str,
        handle: int,
        verb: str,
        channel: tuple[Any, ...],
    ) -> None:
        super().__init__(rank, peer, payload, where)
        self.handle = handle
        self.verb = verb
        self.channel = channel


class Peer:
    """The rank at the other end of this process's socket. The socket is its identity, whatever it says."""

    def __init__(self, rank: int, process: RankProcess) -> None:
        self.rank, self.socket = rank, process.socket
        self.inbox, self.outbox = bytearray(), bytearray()
        self.clock_s = 0.0
        self.posts: deque[Posted] = deque()  # said, and not yet on the wire
        self.posted = 0
        self.operations: dict[int, Posted] = {}
        self.waits_on: Posted | None = None
        self.result: Any = None
        self.ended = self.tainted = False

    @property
    def running(self) -> bool:
        """Whether it may say something now: it neither waits nor has ended."""
        return not self.ended and self.waits_on is None

    def read(self) -> None:
        """Take what has come; ends the trial if its process is gone."""
        try:
            more = self.socket.recv(READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            more = b""
        if not more:
            raise StopTrial(Failure("died", "its process ended without an answer", self.rank))
        self.inbox += more

    def write(self) -> None:
        """Send as much as it takes now; the judge never waits for a rank that does not read."""
        try:
            del self.outbox[: self.socket.send(self.outbox)]
        except BlockingIOError:
            pass
        except OSError:
            self.outbox.clear()  # it is gone; reading says so

    def next_frame(self) -> tuple[int, Any] | None:
        """The next complete frame that it has sent, if any."""
        return split(self.inbox)

    def pending(self) -> Pending:
        """What it is blocked in."""
        assert self.waits_on is not None
        return Pending(self.waits_on.verb, self.waits_on.peer, self.waits_on.where)


TEXT_LENGTH = 600
MAX_SECONDS = 1e9
MAX_CALLS = 10_000
SLOW_CELLS = "slow cells"  # a kind of failure, which names
WHICH_CELLS = re.compile(r"\d{1,4}:\d{1,7}( \d{1,4}:\d{1,7}){,60}")  # cells, and from which line on


def send(rank: int, world_size: int, value: Any) -> Posted:
    """A SEND."""
    handle, dst, payload, where, channel = value
    demand(isinstance(payload, Payload))
    return _posted(rank, handle, _peer(rank, world_size, dst), payload, where, "send", channel, world_size)


def receive(rank: int, world_size: int, value: Any) -> Posted:
    """A RECV."""
    handle, src, like, shape, where, channel = value
    demand(isinstance(like, Payload) and isinstance(shape, list) and len(shape) <= 8)
    demand(all(type(size) is int and 0 <= size <= MAX_BODY_BYTES for size in shape))
    peer = None if type(src) is int and src == -1 else _peer(rank, world_size, src)
    return _posted(rank, handle, peer, Payload(like.dtype, tuple(shape), None), where, "recv", channel, world_size)


def compute_seconds(value: Any) -> float:
    """The seconds of a COMPUTE."""
    demand(isinstance(value, float) and 0 <= value < MAX_SECONDS)
    return value


def result(value: Any) -> list[list[Any]]:
    """The returned values and the arguments afterwards, of a RESULT."""
    demand(isinstance(value, list) and len(value) == 2 and all(isinstance(each, list) for each in value))
    return value


def failure_of(rank: int, value: Any) -> Failure:
    """What an ERROR means."""
    *texts, call = value
    demand(type(call) is int and 0 <= call < MAX_CALLS)
    cause, text, where = map(plain, texts)
    if cause == "CellError":
        demand(text.startswith(("code cell ", "no cell defines ")))
        return Failure("no function", text, rank)
    if cause == "SlowCells":
        demand(WHICH_CELLS.fullmatch(text) is not None)
        return Failure(SLOW_CELLS, text, rank)
    if cause == "NotImplementedError" and not text:  # torch says what it cannot do
        text = "not attempted yet: the function still raises NotImplementedError"
        return Failure("not attempted", text, rank, where, cause)
    if cause == "TimeoutError":
        text = f"rank {rank} was {text}" + (f", in {where}" if where else "") + " (an endless loop?)"
        return Failure("timeout", text, rank, where, cause, call)
    place = f" ({where})" if where else ""
    return Failure("exception", f"rank {rank} raised {cause}: {text}{place}", rank, where, cause, call)


def demand(truth: bool) -> None:
    """Refuse a frame unless this holds."""
    if not truth:
        raise FrameError("a value out of range")


def plain(text: Any) -> str:
    """Text of a student's process, shortened and without control characters."""
    demand(isinstance(text, str))
    return "".join(c if c.isprintable() else " " for c in text[:TEXT_LENGTH])


def _peer(rank: int, world_size: int, peer: Any) -> int:
    demand(type(peer) is int and 0 <= peer < world_size and peer != rank)
    return peer


def _posted(
    rank: int, handle: Any, peer: int | None, payload: Payload, where: Any, verb: str, channel: Any, world_size: int
) -> Posted:
    demand(type(handle) is int)
    demand(isinstance(channel, list) and len(channel) <= 2)
    names = tuple(_name(each, world_size) for each in channel)
    demand("barrier" not in names or (peer is not None and payload.shape == (0,)))  # its messages say nothing
    return Posted(rank, peer, payload, plain(where), handle, verb, names)


def _name(name: Any, world_size: int) -> str | tuple[int, ...]:
    """The name of a barrier, or that of a group: its ranks, each once."""
    if name == "barrier":
        return name
    demand(isinstance(name, list) and len(set(name)) == len(name))
    demand(all(type(rank) is int and 0 <= rank < world_size for rank in name))
    return tuple(name)
