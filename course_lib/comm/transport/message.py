"""One message of a real process: the channel on which it is posted, and its handle from the post to its end."""

from __future__ import annotations

import functools
import zlib
from typing import TYPE_CHECKING, Any

import torch

from course_lib.comm.communicator import Work
from course_lib.comm.source_location import locate
from course_lib.comm.transport.board import share_a_counter
from course_lib.comm.transport.log import Row

if TYPE_CHECKING:
    from course_lib.comm.transport.communicator import ProcessCommunicator

__all__ = ["BARRIER", "ProcessWork", "as_stored", "code_of", "is_barrier", "tag_of"]

BARRIER = "barrier"


@functools.lru_cache(maxsize=1024)
def code_of(channel: tuple[Any, ...]) -> int:
    """A number of 28 bits for a channel: 0 for the program's own, 1 for its barriers, any other for a group's.

    >>> code_of(()), code_of(("barrier",)), code_of(((0, 2),)) > 1
    (0, 1, True)
    """
    if not channel:
        return 0
    return 1 if channel == (BARRIER,) else 2 + zlib.crc32(repr(channel).encode()) % (2**28 - 2)


def tag_of(channel: tuple[Any, ...], started: bool) -> int:
    """The tag of torch.distributed under which a channel's messages go; those of started functions have their own.

    >>> tag_of((), started=False), tag_of((), started=True), tag_of(("barrier",), started=False)
    (0, 1, 2)
    """
    return 2 * code_of(channel) + started


def is_barrier(channel: tuple[Any, ...]) -> bool:
    """True for the messages of a barrier, a group's too."""
    return BARRIER in channel


class ProcessWork(Work):
    """A message under way: torch.distributed's handle, and the row of the log that it completes."""

    __slots__ = ("_carried", "_comm", "_done", "_handle", "_kind", "_row", "_tensor", "channel", "number", "peer")

    def __init__(
        self, comm: ProcessCommunicator, kind: str, tensor: torch.Tensor, peer: int | None, number: int, row: Row
    ) -> None:
        self._comm = comm
        self._kind = kind
        self._tensor = tensor
        self._row = row
        self.peer = peer
        self.number = number
        self.channel = row.channel
        self._done = False
        self._handle, self._carried = comm.hand_over(kind, as_stored(tensor, kind), peer)
        comm._under_way.add(self)

    def wait(self) -> bool:
        self.finish("wait")
        return True

    def finish(self, verb: str) -> None:
        """Block until the message has ended, once."""
        if self._done:
            return
        comm, start_s = self._comm, self._comm.now()
        comm.block(self._verb(verb), self, locate(None, comm.started_at))
        self._handle.wait()
        comm.go_on()
        self._done, end_s = True, comm.now()
        comm._under_way.discard(self)
        peer = self._handle._source_rank() if self.peer is None else self.peer
        if self._kind == "recv":
            comm.arrived(self, peer)
            if self._carried.data_ptr() != self._tensor.data_ptr():
                with torch.no_grad():
                    self._tensor.detach().copy_(self._carried)
        comm.log.done(self._row, peer, end_s)
        comm.log.waits.append((comm.rank, verb, start_s, end_s))

    def _verb(self, verb: str) -> str:
        if is_barrier(self.channel):
            return f"barrier {self._kind}"
        return f"wait for i{self._kind}" if verb == "wait" else verb

    def may_take_instead_of(self, other: ProcessWork) -> bool:
        """True for an open receive that is counted with `other`, one from anyone, and stands behind it or elsewhere."""
        if self._kind != "recv" or self.peer is None:
            return False
        if self.channel == other.channel:
            return self._row.posted_tick > other._row.posted_tick
        return share_a_counter(code_of(self.channel), code_of(other.channel))

    def source_rank(self) -> int:
        if not self._done:
            raise RuntimeError("source_rank() is known after wait()")
        return self._row.peer


def as_stored(tensor: torch.Tensor, kind: str) -> torch.Tensor:
    """A tensor whose memory has its numbers: itself, unless it is a view that shows them negated or conjugated, or has
    no memory, as the zeros that torch makes of a derivative.

    torch.distributed sends memory. What is received is copied into such a view afterwards.
    """
    if tensor._is_zerotensor():
        return tensor.detach().clone()
    if not (tensor.is_neg() or tensor.is_conj()):
        return tensor
    return torch.empty_like(tensor) if kind == "recv" else tensor.detach().resolve_conj().resolve_neg()
