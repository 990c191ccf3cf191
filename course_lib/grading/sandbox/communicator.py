"""The communicator of a rank under grading: the course's own words, spoken over one socket to the judge.

Whatever student code does to these objects, it changes only its own rank: the judge knows a rank by the socket that
its frames come from, and decides itself what arrives where and when.
"""

from __future__ import annotations

import contextlib
import math
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

import torch

from .frames import Frame, Payload, pack, split
from .sends import Sends

__all__ = ["Channel", "GradedCommunicator", "GradedStarted", "GradedWork", "place"]

READ_BYTES = 1 << 18
ANYONE = -1


class Channel:
    """Frames over this process's end of its socket pair."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor, self.buffer = descriptor, bytearray()

    def tell(self, kind: int, value: Any) -> None:
        """Send one frame."""
        left = memoryview(pack(kind, value))
        while left:
            left = left[os.write(self.descriptor, left) :]

    def hear(self) -> tuple[int, Any]:
        """Wait for the next frame."""
        while (frame := split(self.buffer)) is None:
            more = os.read(self.descriptor, READ_BYTES)
            if not more:
                os._exit(1)
            self.buffer += more
        return frame


def place() -> str:
    """The student's line that is being executed, in words."""
    frame = sys._getframe(1)
    while frame and not frame.f_code.co_filename.startswith("<code cell "):
        frame = frame.f_back  # type: ignore[assignment]
    return f"{frame.f_code.co_filename[1:-1]}, line {frame.f_lineno}" if frame else ""


class GradedWork:
    """A send or receive under way."""

    def __init__(
        self,
        comm: GradedCommunicator,
        handle: int,
        into: torch.Tensor | None,
        source: int,
    ) -> None:
        self._comm, self._handle, self._into, self._source = comm, handle, into, source
        self._done = False

    def wait(self) -> bool:
        """Block until the message has left or arrived."""
        if not self._done:
            self._comm._sends.waited(self._handle)
            payload, self._source = self._comm._wait(self._handle)
            if self._into is not None and payload is not None:
                with torch.no_grad():
                    self._into.copy_(payload.tensor())
            self._done = True
        return True

    def source_rank(self) -> int:
        """The rank that the message came from, known after `wait()`."""
        if not self._done:
            raise RuntimeError("source_rank() is known after wait()")
        return self._source


class GradedStarted:
    """What `start` returns. Under grading the function has already ended; `wait()` raises what it raised."""

    def __init__(self, result: Any, error: Exception | None) -> None:
        self._result, self._error = result, error

    def wait(self) -> bool:
        """True, or what the function raised."""
        if self._error is not None:
            raise self._error
        return True

    @property
    def result(self) -> Any:
        """What the function returned."""
        self.wait()
        return self._result

    def source_rank(self) -> int:
        """Nobody: it is no message."""
        raise RuntimeError("a started function comes from no other rank")


class GradedCommunicator:
    """One rank's view of the others; see `course_lib.Communicator`, whose public methods these are."""

    def __init__(self, channel: Channel, rank: int, world_size: int) -> None:
        self.rank, self.world_size, self.network = rank, world_size, None
        self._channel, self._handles, self._clock_s = channel, 0, 0.0
        self._sends = Sends()
        self._is_apart = False  # inside a barrier

    def isend(self, tensor: torch.Tensor, dst: int) -> GradedWork:
        """Start to send `tensor` to rank `dst`."""
        self._check(tensor, dst, "dst")
        self._handles += 1
        self._channel.tell(Frame.SEND, [self._handles, dst, tensor, place(), self._is_apart])
        self._sends.began(self._handles, tensor, place())
        return GradedWork(self, self._handles, None, self.rank)

    def irecv(self, tensor: torch.Tensor, src: int | None = None) -> GradedWork:
        """Start to receive into `tensor` from rank `src`, or from anyone."""
        self._check(tensor, src, "src")
        self._handles += 1
        source = ANYONE if src is None else src
        like = Payload(tensor.dtype, (0,), b"")
        self._channel.tell(Frame.RECV, [self._handles, source, like, list(tensor.shape), place(), self._is_apart])
        return GradedWork(self, self._handles, tensor, source)

    def send(self, tensor: torch.Tensor, dst: int) -> None:
        """Send `tensor` to rank `dst` and wait until it is received."""
        self.isend(tensor, dst).wait()

    def recv(self, tensor: torch.Tensor, src: int | None = None) -> int:
        """Receive into `tensor` and return the sender's rank."""
        work = self.irecv(tensor, src)
        work.wait()
        return work.source_rank()

    def start(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> GradedStarted:
        """Run `function(comm, *args, **kwargs)` at once and to its end: the judge knows no program beside the program.

        Its messages are among the program's, so all ranks must start the same functions in the same places.
        """
        if not callable(function):
            raise TypeError(f"start needs a function of (comm, ...), rank {self.rank} got {type(function).__name__}")
        try:
            with torch.no_grad():
                return GradedStarted(function(self, *args, **kwargs), None)
        except Exception as error:
            return GradedStarted(None, error)

    def barrier(self) -> None:
        """Return once every rank has called it: ceil(log2 world_size) rounds of empty messages."""
        distance = 1
        while distance < self.world_size:
            with self._apart():
                sent = self.isend(torch.empty(0), (self.rank + distance) % self.world_size)
                received = self.irecv(torch.empty(0), (self.rank - distance) % self.world_size)
            received.wait()
            sent.wait()
            distance *= 2

    @contextlib.contextmanager
    def _apart(self) -> Iterator[None]:
        """What is posted inside meets only what others post so: the judge takes nothing else than a barrier's there."""
        self._is_apart = True
        try:
            yield
        finally:
            self._is_apart = False

    def now(self) -> float:
        """Seconds on the judge's virtual clock when this rank last waited."""
        return self._clock_s

    def compute(self, seconds: float, label: str = "compute") -> None:
        """Be busy for `seconds` on the judge's clock, where the exercise is about time; else nothing."""
        if not 0 <= seconds < math.inf:
            raise ValueError(f"seconds must be 0 or more, rank {self.rank} got {seconds}")
        self._channel.tell(Frame.COMPUTE, float(seconds))

    @contextlib.contextmanager
    def span(self, label: str) -> Iterator[None]:
        """Mark what happens inside; the judge does not look at it."""
        yield

    def refuse_changed_sends(self) -> None:
        """At the end of the program: no tensor may have been changed while it may still have been on its way."""
        self._sends.ended()

    def _wait(self, handle: int) -> tuple[Payload | None, int]:
        self._channel.tell(Frame.WAIT, [handle, place()])
        _, (_, source, payload, self._clock_s) = self._channel.hear()
        return payload, source

    def _check(self, tensor: torch.Tensor, peer: int | None, name: str) -> None:
        if not isinstance(tensor, torch.Tensor):
            raise TypeError(f"rank {self.rank}: a message must be a torch.Tensor, got {type(tensor).__name__}")
        if not tensor.is_contiguous():
            raise ValueError(f"rank {self.rank}: a message must be contiguous in memory; call .contiguous() first")
        if peer is None and name == "src":
            return
        if not isinstance(peer, int) or not 0 <= peer < self.world_size:
            raise ValueError(f"{name} must be a rank from 0 to {self.world_size - 1}, rank {self.rank} got {peer!r}")
        if peer == self.rank:
            raise ValueError(f"{name} is rank {peer} itself: a rank cannot send to or receive from itself")
