"""One rank as the judge knows it: a socket, what it said, and what waits for it. Nothing of it is trusted."""

from __future__ import annotations

from collections import deque
from typing import Any

from course_lib.comm.errors import Pending
from course_lib.comm.wire import WireOperation
from course_lib.grading.exercise import Failure
from course_lib.grading.judge.launcher import RankProcess
from course_lib.grading.sandbox.frames import Payload, split

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
