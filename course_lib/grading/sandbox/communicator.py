"""The communicator of a rank under grading: the course's own, spoken over one socket to the judge.

Whatever student code does to these objects, it changes only its own rank: the judge knows a rank by the socket that
its frames come from, and decides itself what arrives where and when.

`Transfers` finds data races: until somebody waits for a message, its tensor belongs to the message. On real processes a
buffer that two messages share, or that is read or written too early, holds whatever came first. Here it is an error, or
a number that is none, each time. The judge's ranks and the notebook's check both use this.
"""

from __future__ import annotations

import math
import os
import sys
from dataclasses import dataclass
from typing import Any

import torch

from course_lib.comm.communicator import Communicator, Work

from .frames import Frame, Payload, pack, split
from .tensors import raw_bytes


@dataclass
class _Open:
    """A transfer that nobody has waited for, and what its tensor has to hold until then."""

    tensor: torch.Tensor
    where: str
    content: bytes = b""

    def __post_init__(self) -> None:
        self.content = raw_bytes(self.tensor)

    def overlaps(self, tensor: torch.Tensor) -> bool:
        (start, end), (other_start, other_end) = _range(self.tensor), _range(tensor)
        return start < other_end and other_start < end

    @property
    def place(self) -> str:
        return f" ({self.where})" if self.where else ""


class Transfers:
    """The transfers of one rank that have begun and that nobody has waited for, by a number of their own."""

    def __init__(self) -> None:
        self._sends: dict[int, _Open] = {}
        self._receives: dict[int, _Open] = {}

    def sends(self, number: int, tensor: torch.Tensor, where: str) -> None:
        """An isend of this tensor was called there.

        Raises:
            RuntimeError: if a message may be arriving in it.
        """
        self.refuse_arriving(tensor, where)
        self._sends[number] = _Open(tensor, where)

    def receives(self, number: int, tensor: torch.Tensor, where: str) -> None:
        """An irecv into this tensor was called there. Until its wait the tensor holds no numbers.

        Raises:
            RuntimeError: if another message may be arriving in it, or leaving from it.
        """
        self.refuse_shared(tensor, where)
        if tensor.dtype != torch.bool:  # a truth value is one or the other
            tensor.detach().reshape(-1).view(torch.uint8).fill_(0xFF)  # nan in every floating dtype
        self._receives[number] = _Open(tensor, where)

    def refuse_arriving(self, tensor: torch.Tensor, where: str) -> None:
        """Refuse to send what an irecv may change.

        Raises:
            RuntimeError: if one that nobody has waited for goes into the same memory.
        """
        for receive in self._receives.values():
            if receive.overlaps(tensor):
                raise RuntimeError(
                    f"this sends a tensor{_at(where)} in which a message may still be arriving{receive.place}: wait() "
                    "for that irecv first, or give it a tensor of its own"
                )

    def refuse_shared(self, tensor: torch.Tensor, where: str) -> None:
        """Refuse to receive into memory that another message still uses.

        Raises:
            RuntimeError: if it does.
        """
        for receive in self._receives.values():
            if receive.overlaps(tensor):
                raise RuntimeError(
                    f"two messages may be arriving in the same memory: this one{_at(where)} and one that nobody has "
                    f"waited for{receive.place}. Give each a tensor of its own, or wait() for the first"
                )
        for send in self._sends.values():
            if send.overlaps(tensor):
                raise RuntimeError(
                    f"this receives into a tensor{_at(where)} that may still be leaving{send.place}: wait() for that "
                    "isend first, or receive into a tensor of its own"
                )

    def waited(self, number: int) -> None:
        """Its wait() was called.

        Raises:
            RuntimeError: if the tensor has been changed in the meantime.
        """
        send, receive = self._sends.pop(number, None), self._receives.pop(number, None)
        if send and raw_bytes(send.tensor) != send.content:
            raise RuntimeError(f"a tensor was changed while it was being sent: wait() for its isend first{send.place}")
        if receive and raw_bytes(receive.tensor) != receive.content:
            words = "a tensor was changed while a message was arriving in it: wait() for its irecv first"
            raise RuntimeError(words + receive.place)

    def ended(self) -> None:
        """The program has ended.

        Raises:
            RuntimeError: if a tensor has been changed after an isend that nobody waited for.
        """
        for send in self._sends.values():
            if raw_bytes(send.tensor) != send.content:
                raise RuntimeError(
                    f"a tensor was changed after its isend{send.place}, and nothing had waited for that: it may still "
                    "be on its way. Keep what isend returns, and call its wait() before you change the tensor"
                )


def _range(tensor: torch.Tensor) -> tuple[int, int]:
    """Where a tensor without gaps lies in memory."""
    return tensor.data_ptr(), tensor.data_ptr() + tensor.numel() * tensor.element_size() * (not tensor.is_meta)


def _at(where: str) -> str:
    return f", {where}," if where else ""


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
