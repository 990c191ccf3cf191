"""The communicator on torch.distributed: real processes, Gloo or NCCL, every message checked and logged.

A message's handle is `ProcessWork`; its channel (the program, a barrier, a group) becomes a tag, and a code on the
board.
"""

from __future__ import annotations

import functools
import threading
import time
import zlib
from collections import Counter
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist

from course_lib.comm.collective import BARRIER, Inside, Label, code_of_label, label_of
from course_lib.comm.communicator import Communicator, Peer, Started, Work
from course_lib.comm.errors import JOIN
from course_lib.comm.source_location import SourceLocation, locate
from course_lib.comm.transport.board import UNSURE, Board, share_a_counter
from course_lib.comm.transport.log import Log, LogRow
from course_lib.comm.transport.started_functions import StartedThread

# --- One message: the channel on which it is posted, and its handle from the post to its end.


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
        self, comm: ProcessCommunicator, kind: str, tensor: torch.Tensor, peer: int | None, number: int, row: LogRow
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


# --- The communicator itself.


class ProcessCommunicator(Communicator):
    """One rank among processes joined by torch.distributed.

    `device` is where this rank's tensors live. Messages from a GPU go through host memory unless the backend is NCCL.

    Args:
        board: the shared table in which both sides of a message are compared; None under torchrun.
        start_s: the common start on the machine's clock.
    """

    __slots__ = (
        "_board",
        "_changes",
        "_counts",
        "_device",
        "_mixed",
        "_open",
        "_open_call",
        "_start_s",
        "_started",
        "_threads",
        "_under_way",
        "_unjoined",
        "_worker",
        "log",
        "on_error",
        "started_at",
        "within",
    )

    def __init__(self, rank: int, world_size: int, board: Board | None, start_s: float, device: torch.device) -> None:
        self.rank = rank
        self.world_size = world_size
        self.network = None
        self._device, self.log = device, Log()
        self.within: Label | None = None  # the collective to which what it posts belongs
        self._board = board
        self._start_s = start_s
        self._changes = 0
        self._channel = ()
        self._counts: Counter[tuple[Any, ...]] = Counter()  # messages so far, by kind, peer and channel
        self._open: Counter[tuple[Any, ...]] = (
            Counter()
        )  # receives under way, by channel: from anyone (True), from one (False)
        self._under_way: set[ProcessWork] = set()  # kept until they end, even if the program drops them
        self._started = False  # whether this is the rank as its started functions see it
        self._worker: StartedThread | None = None
        self._unjoined: list[Started] = []  # functions that it has started and not waited for
        self.started_at: SourceLocation | None = None  # where no line is the student's: that of the function's start
        self.on_error: Callable[[BaseException | None], None] = lambda _: None  # hears what started functions raise
        self._mixed: set[tuple[Any, ...]] = (
            set()
        )  # channels with both kinds at once: who takes which cannot be told by counting
        self._threads = _own_threads()

    @property
    def device(self) -> torch.device:
        return self._device

    def isend(self, tensor: torch.Tensor, dst: int) -> Work:
        return self._post("send", tensor, dst, locate(None, self.started_at))

    def irecv(self, tensor: torch.Tensor, src: int | None = None) -> Work:
        return self._post("recv", tensor, src, locate(None, self.started_at))

    def send(self, tensor: torch.Tensor, dst: int) -> None:
        self._post("send", tensor, dst, locate(None, self.started_at)).finish("send")

    def recv(self, tensor: torch.Tensor, src: int | None = None) -> int:
        work = self._post("recv", tensor, src, locate(None, self.started_at))
        work.finish("recv")
        return work.source_rank()

    def collective(self, kind: str, name: str = "") -> Inside:
        return Inside(self, label_of(kind, name))

    def begin_collective(self, label: Label, is_ours: bool) -> None:
        """Note that a collective begins, also on the board."""
        at = locate(None, self.started_at)
        self._open_call = self.log.calls.begin(self.rank, label, self.now(), at)
        if self._board is not None:
            self._board.begin_collective(self.rank, self._open_call, str(label), at)

    def end_collective(self) -> None:
        """Note that the one that began last has ended."""
        self.log.calls.end(self._open_call, self.now())
        if self._board is not None:
            self._board.end_collective(self.rank)

    def now(self) -> float:
        return self.elapsed()

    def begin(self) -> None:
        """Called right before the program begins."""

    def end(self) -> None:
        """Called when the program has returned: wait for the functions that it started."""
        while self._unjoined:
            self.started_at = self._unjoined[0].location
            self._unjoined[0].wait()

    def _run_started(self, work: Started) -> None:
        if self._started:
            raise RuntimeError(f"rank {self.rank}: a started function cannot start another one")
        self._unjoined.append(work)
        if self._worker is None:
            self._worker = StartedThread(self, self._make_twin())
        self._worker.add(work)

    def _make_twin(self) -> ProcessCommunicator:
        """The same rank as its started functions see it."""
        board = self._board.started_board() if self._board else None
        twin = ProcessCommunicator(self.rank, self.world_size, board, self._start_s, self.device)
        twin.log, twin._started = Log("started"), True
        self.log.started = twin.log
        return twin

    def _join(self, work: Started) -> None:
        if work not in self._unjoined:
            return
        if self._worker is not None:
            self._worker.join(work)
        self._unjoined.remove(work)
        if work.error is not None:
            self.on_error(None)

    def block_join(self, work: Started, location: SourceLocation) -> None:
        """Say on the board that this rank is blocked until a started function has ended."""
        self._changes += 1
        if self._board is not None:
            self._board.block(self.rank, self._changes, JOIN, None, work.number, location)

    def tell_under_way(self, begun: int, ended: int) -> None:
        """Say on the board how many started functions have not ended."""
        if self._board is not None:
            self._board.set_under_way(self.rank, begun - ended)

    def begin_started(self, work: Started) -> None:
        """Called on the twin right before a started function begins."""
        self.started_at = work.location

    def end_started(self, work: Started) -> None:
        """Called on the twin right after it has ended."""

    def resume_after(self, work: Started, began_s: float) -> None:
        """Called when a started function has ended for which this rank has waited since `began_s`."""

    def elapsed(self) -> float:
        """Seconds since the common start, on the real clock."""
        return time.perf_counter() - self._start_s

    def compute(self, seconds: float, label: str = "compute") -> None:
        self._check_seconds(seconds)
        start_s = self.now()
        time.sleep(seconds)
        self._record_span(label, start_s, self.now())

    def _record_span(self, label: str, start_s: float, end_s: float) -> None:
        self.log.spans.append((self.rank, label, start_s, end_s))

    def _check(self, tensor: torch.Tensor, peer: Peer, name: str) -> Peer:
        peer = super()._check(tensor, peer, name)
        if tensor.is_meta:
            raise ValueError(f"rank {self.rank}: a meta tensor has no numbers to send; only simulate(...) carries it")
        return peer

    def _post(self, kind: str, tensor: torch.Tensor, peer: int | None, location: SourceLocation) -> ProcessWork:
        peer = self._check(tensor, peer, "dst" if kind == "send" else "src")
        if self._worker is not None:
            self._worker.refuse_this_thread()
        number = self._count(kind, peer)
        row = self.log.post(kind, peer, tensor, self.now(), location, self._channel, self.within)
        if self._board is not None:
            slot = self.rank if peer is None else peer
            inside = (code_of_label(self.within), self._open_call) if self.within else (0, 0)
            self._board.post(kind, self.rank, slot, number, row.envelope, location, code_of(self._channel), *inside)
        return ProcessWork(self, kind, tensor, peer, number, row)

    def _count(self, kind: str, peer: int | None) -> int:
        """The number of this message among those of its kind with this peer on this channel."""
        channel = self._channel
        if kind == "recv" and not is_barrier(channel):
            self._open[channel, peer is None] += 1
            if self._open[channel, True] > 0 and self._open[channel, False] > 0:
                self._mixed.add(channel)
        counted = kind, peer, channel
        self._counts[counted] += 1
        return self._counts[counted] - 1

    def hand_over(self, kind: str, tensor: torch.Tensor, peer: int | None) -> tuple[Any, torch.Tensor]:
        """Hand an operation to torch.distributed; returns its handle and the tensor that it really uses."""
        on_device = tensor.device.type != "cpu"
        carried = tensor.detach().cpu() if on_device else tensor.detach()
        if peer is None and not carried.numel():
            carried = carried.new_empty(1)  # Gloo receives nothing from anyone only into something
        self.log.carriers["gloo through host memory" if on_device else "gloo"] += kind == "send" and tensor.numel() > 0
        tag = tag_of(self._channel, self._started)
        return (dist.isend(carried, peer, tag=tag) if kind == "send" else dist.irecv(carried, peer, tag=tag)), carried

    def go_on(self) -> None:
        """Say on the board that this rank is not blocked any more."""
        if self._board is not None:
            self._board.go_on(self.rank)

    def block(self, verb: str, work: ProcessWork, location: SourceLocation) -> None:
        """Say on the board what this rank is blocked in."""
        if self._board is None:
            return
        self._changes += 1
        number = work.number if self._is_sure(work) else UNSURE
        self._board.block(self.rank, self._changes, verb, work.peer, number, location, code_of(work.channel))

    def _is_sure(self, work: ProcessWork) -> bool:
        """False if counting cannot tell whether this message will come: a thread of the program's own may send it, or
        other receives are open that may or may not take what a receive from anyone waits for."""
        if self._has_other_threads():
            return False
        return work.peer is not None or not any(other.may_take_instead_of(work) for other in self._under_way)

    def _has_other_threads(self) -> bool:
        """True while the program runs threads of its own."""
        return _own_threads() > self._threads + (self._started or self._worker is not None)

    def arrived(self, work: ProcessWork, src: int) -> None:
        """Count a message that has arrived, and raise MismatchError if it was sent as something else."""
        channel = work.channel
        if is_barrier(channel):
            return
        number, code = work.number, code_of(channel)
        if work.peer is None:
            number = self._counts["recv", src, channel]
            self._counts["recv", src, channel] += 1
            if self._board is not None:
                self._board.took_from_anyone(self.rank, src, code)
        self._open[channel, work.peer is None] -= 1
        if self._board is None or channel in self._mixed:
            return
        slot = self.rank if work.peer is None else src
        error = self._board.compare(src, self.rank, number, slot, work.number, code)
        if error is not None:
            raise error


def _own_threads() -> int:
    """How many threads Python has begun, without autograd's, in which hooks of an accelerator's tensors run."""
    return sum(not isinstance(thread, threading._DummyThread) for thread in threading.enumerate())
