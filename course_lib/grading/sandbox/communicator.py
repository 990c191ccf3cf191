"""The communicator of a rank under grading: the course's own, spoken over one socket to the judge.

Whatever student code does to these objects, it changes only its own rank: the judge knows a rank by the socket that
its frames come from, and decides itself what arrives where and when.
"""

from __future__ import annotations

import math
import os
import sys
from typing import Any

import torch

from course_lib.comm.communicator import Communicator, Work

from .frames import Frame, Payload, pack, split
from .transfers import Transfers

READ_BYTES = 1 << 18
ANYONE = -1


class FrameSocket:
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


class GradedWork(Work):
    """A send or receive under way."""

    def __init__(self, comm: GradedCommunicator, handle: int, into: torch.Tensor | None, source: int) -> None:
        self._comm = comm
        self._handle = handle
        self._into = into
        self._source = source
        self._done = False

    def wait(self) -> bool:
        if not self._done:
            self._comm._transfers.waited(self._handle)
            payload, self._source = self._comm._wait(self._handle)
            if self._into is not None and payload is not None:
                with torch.no_grad():
                    self._into.copy_(payload.tensor())
            self._done = True
        return True

    def source_rank(self) -> int:
        if not self._done:
            raise RuntimeError("source_rank() is known after wait()")
        return self._source


class GradedCommunicator(Communicator):
    """A rank as its program sees it. What it starts runs at once: the judge knows no program beside the program."""

    def __init__(self, socket: FrameSocket, rank: int, world_size: int) -> None:
        self.rank = rank
        self.world_size = world_size
        self.network = None
        self._channel = ()
        self._socket = socket
        self._handles = 0
        self._clock_s = 0.0
        self._transfers = Transfers()

    def isend(self, tensor: torch.Tensor, dst: int) -> GradedWork:
        dst = self._check(tensor, dst, "dst")
        self._handles += 1
        self._transfers.sends(self._handles, tensor, place())
        self._socket.tell(Frame.SEND, [self._handles, dst, tensor, place(), self._channel])
        return GradedWork(self, self._handles, None, self.rank)

    def irecv(self, tensor: torch.Tensor, src: int | None = None) -> GradedWork:
        src = self._check(tensor, src, "src")
        self._handles += 1
        self._transfers.receives(self._handles, tensor, place())
        source = ANYONE if src is None else src
        like = Payload(tensor.dtype, (0,), b"")
        self._socket.tell(Frame.RECV, [self._handles, source, like, list(tensor.shape), place(), self._channel])
        return GradedWork(self, self._handles, tensor, source)

    def now(self) -> float:
        """Seconds on the judge's virtual clock when this rank last waited."""
        return self._clock_s

    def compute(self, seconds: float, label: str = "compute") -> None:
        """Be busy for `seconds` on the judge's clock, where the exercise is about time; else nothing."""
        self._check_seconds(seconds)
        if seconds == math.inf:
            raise ValueError(f"seconds must be finite, rank {self.rank} got {seconds}")
        self._socket.tell(Frame.COMPUTE, float(seconds))

    def refuse_changed_sends(self) -> None:
        """At the end of the program: no tensor may have been changed while it may still have been on its way."""
        self._transfers.ended()

    def _record_span(self, label: str, start_s: float, end_s: float) -> None:
        pass  # the judge does not look at it

    def _wait(self, handle: int) -> tuple[Payload | None, int]:
        self._socket.tell(Frame.WAIT, [handle, place()])
        _, (_, source, payload, self._clock_s) = self._socket.hear()
        return payload, source
