"""One message of a real process, from its post to its end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from course_lib.comm.communicator import Work
from course_lib.comm.processes.board import share_a_counter
from course_lib.comm.processes.channels import code_of, is_barrier
from course_lib.comm.processes.log import Row
from course_lib.comm.source_location import locate

if TYPE_CHECKING:
    from course_lib.comm.processes.communicator import ProcessCommunicator

__all__ = ["ProcessWork"]


class ProcessWork(Work):
    """A message under way: torch.distributed's handle, and the row of the log that it completes."""

    __slots__ = ("_carried", "_comm", "_done", "_handle", "_kind", "_row", "_tensor", "channel", "number", "peer")

    def __init__(
        self, comm: ProcessCommunicator, kind: str, tensor: torch.Tensor, peer: int | None, number: int, row: Row
    ) -> None:
        self._comm, self._kind, self._tensor, self._row = comm, kind, tensor, row
        self.peer, self.number, self.channel, self._done = peer, number, row.channel, False
        self._handle, self._carried = comm.hand_over(kind, tensor, peer)
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
            if self._carried.device != self._tensor.device:
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
