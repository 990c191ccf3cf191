"""The actor model: messages of the protocol, state machines that answer them, mailboxes, and the event loop.

worker                         server
  | -- pull ---------------------> |   "the parameters, please"
  | <-------------- parameters --- |   now, or when the policy allows
  |    computes a gradient         |
  | -- push ---------------------> |   the server updates, or keeps it until it has enough
  | -- pull ---------------------> |
  | <-------------------- stop --- |   enough updates are made
  | -- goodbye ------------------> |   nobody waits for this worker any more

Source: C. Hewitt, P. Bishop and R. Steiger, "A universal modular actor formalism", IJCAI 1973.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from course_lib.comm import Communicator, Work

# Who writes to whom, and what it means.
KINDS = {
    # The loop of training.
    "pull": "worker → server: send me your parameters; with my version (-1: none) and my clock",
    "parameters": "server → worker: my shard, with its version",
    "push": "worker → server: a gradient, with its clock, the version it was computed on, the count of gradients in it",
    "stop": "server → worker: instead of parameters: all updates are made",
    "goodbye": "worker → server: I leave",
    "recall": "worker → server: send me your parameters as they were at this version",
    # Where a message may be lost.
    "acknowledge": "server → worker: your push of this clock is in, and will survive me",
    # Work that is handed out.
    "ready": "worker → coordinator: I have nothing to do",
    "portion": "coordinator → worker: do the portion of this number",
    "done": "worker → coordinator: the portion of this number is done",
    # Arithmetic where the vectors lie.
    "command": "coordinator → server: do the operation of this number; what it works on is in the payload",
    "result": "server → coordinator: what the operation of this number gave",
}
_NAMES = list(KINDS)
_NUMBERS = {kind: number for number, kind in enumerate(_NAMES)}
_DTYPES = (torch.float32, torch.float64, torch.int64, torch.uint8)
_DTYPE_NUMBERS = {dtype: number for number, dtype in enumerate(_DTYPES)}
_META = 16  # added to the dtype's number for a payload without numbers
HEADER_BYTES = 8 * 8


@dataclass(frozen=True, slots=True, eq=False)
class Message:
    """What travels: a kind of `KINDS`, a few whole numbers, and perhaps a row of numbers.

    Args:
        kind: one of `KINDS`, which says what the other fields mean.
        sender: who wrote it.
        clock: how many gradients the worker has made.
        version: how many updates the parameters have been through.
        count: how many gradients the payload sums.
        number: which one, of what is numbered.
        payload: a row of float32, float64, int64 or uint8; meta tensors travel as bytes without content.
    """

    kind: str
    sender: int
    clock: int = 0
    version: int = 0
    count: int = 1
    number: int = 0
    payload: torch.Tensor | None = None

    def header(self) -> torch.Tensor:
        """Everything but the payload's content, as 8 whole numbers of int64.

        Raises:
            ValueError: if the kind is none of `KINDS`, or the payload is no row of a known dtype.
        """
        length, dtype = (-1, 0) if self.payload is None else _measure(self.payload)
        if self.kind not in _NUMBERS:
            raise ValueError(f"a message's kind must be one of {', '.join(KINDS)}, got {self.kind!r}")
        kind = _NUMBERS[self.kind]
        fields = [kind, self.sender, self.clock, self.version, self.count, self.number, length, dtype]
        return torch.from_numpy(np.array(fields))  # three times as fast as torch.tensor

    @staticmethod
    def from_header(header: torch.Tensor) -> Message:
        """The message that `header` describes, its payload an empty row of the right length and dtype to receive into.

        >>> message = Message("push", sender=3, clock=7, version=5, payload=torch.tensor([1.0, 2.0]))
        >>> again = Message.from_header(message.header())
        >>> again.kind, again.sender, again.clock, again.version, again.payload.shape, again.payload.dtype
        ('push', 3, 7, 5, torch.Size([2]), torch.float32)
        """
        kind, sender, clock, version, count, number, length, dtype = header.tolist()
        payload = None
        if length >= 0:
            device = "meta" if dtype >= _META else "cpu"
            payload = torch.empty(length, dtype=_DTYPES[dtype % _META], device=device)
        return Message(_NAMES[kind], sender, clock, version, count, number, payload)

    def to_bytes(self) -> list[bytes]:
        """The message as one or two frames, header and payload, for a wire that carries bytes."""
        frames = [self.header().numpy().tobytes()]
        return frames if self.payload is None else [*frames, self.payload.detach().cpu().numpy().tobytes()]

    @staticmethod
    def from_bytes(frames: list[bytes]) -> Message:
        """The message whose `to_bytes` gave `frames`.

        >>> message = Message.from_bytes(Message("push", sender=3, payload=torch.tensor([1.0, 2.0])).to_bytes())
        >>> message.kind, message.sender, message.payload
        ('push', 3, tensor([1., 2.]))
        """
        message = Message.from_header(torch.frombuffer(bytearray(frames[0]), dtype=torch.int64))
        if message.payload is not None and message.payload.numel():
            message.payload.copy_(torch.frombuffer(bytearray(frames[1]), dtype=message.payload.dtype))
        return message


def _measure(payload: torch.Tensor) -> tuple[int, int]:
    """A payload's length and the number of its dtype."""
    if payload.dim() != 1 or payload.dtype not in _DTYPE_NUMBERS or not payload.is_contiguous():
        raise ValueError(
            f"a payload must be one row of {', '.join(map(str, _DTYPES))}, "
            f"got shape {tuple(payload.shape)} of {payload.dtype}"
        )
    return payload.numel(), _DTYPE_NUMBERS[payload.dtype] + (_META if payload.is_meta else 0)


_UNREAD = 32  # messages that may lie unread at one receiver before its sender waits


class Mailbox(ABC):
    """A mailbox: sends to other addresses and receives from any; messages between two addresses keep their order."""

    @abstractmethod
    def send(self, dst: int, message: Message) -> None:
        """Let `message` go to `dst` and return at once. Its payload must not change from now on."""

    @abstractmethod
    def receive(self) -> Message:
        """Block until a message is there, from whomever, and return it."""

    @abstractmethod
    def now(self) -> float:
        """Seconds on this address's clock."""

    @abstractmethod
    def compute(self, seconds: float, label: str = "compute") -> None:
        """Be busy for `seconds`."""

    @abstractmethod
    def close(self) -> None:
        """Return when all that was sent is out of this address's hands."""


class CommMailbox(Mailbox):
    """Messages over a communicator: a header of 64 bytes, then the payload if there is one.

    `send` returns at once until 16 messages lie unread at their receiver; then it waits for the oldest of them.

    Args:
        one_by_one: a message leaves when the one before has left, as a worker does that has several servers. Otherwise
            all servers wait for the same worker while the others stand idle.
        in_turn: receive from these addresses one after the other, round and round, in place of from anyone: for a
            worker that gets one answer of each server. Otherwise all workers wait for the same server.
        device: where payloads lie that arrive; None: on the rank's own device. They travel through host memory, since
            NCCL cannot receive from anyone.
    """

    def __init__(
        self,
        comm: Communicator,
        *,
        one_by_one: bool = False,
        in_turn: Sequence[int] = (),
        device: torch.device | None = None,
    ) -> None:
        self.comm, self.device = comm, device or comm.device
        self._sent: dict[int, deque[Work]] = {}
        self._one_by_one = one_by_one
        self._sources: Iterator[int | None] = itertools.cycle(in_turn or [None])

    def send(self, dst: int, message: Message) -> None:
        if self._one_by_one:
            self.close()
        sent = self._sent.setdefault(dst, deque())
        sent.append(self.comm.isend(message.header(), dst))
        if message.payload is not None:
            sent.append(self.comm.isend(_on_host(message.payload.detach()), dst))
        while len(sent) > _UNREAD:
            sent.popleft().wait()

    def receive(self) -> Message:
        header = torch.empty(8, dtype=torch.int64)
        src = self.comm.recv(header, next(self._sources))
        message = Message.from_header(header)
        if message.payload is not None:
            self.comm.recv(message.payload, src)
            if not message.payload.is_meta:
                message = replace(message, payload=message.payload.to(self.device))
        return message

    def now(self) -> float:
        return self.comm.now()

    def compute(self, seconds: float, label: str = "compute") -> None:
        self.comm.compute(seconds, label)

    def close(self) -> None:
        for sent in self._sent.values():
            while sent:
                sent.popleft().wait()


def _on_host(row: torch.Tensor) -> torch.Tensor:
    """The row in the processor's memory; a meta tensor has none."""
    return row if row.is_meta else row.cpu()


Outbox = list[tuple[int, Message]]  # messages and whom they go to


class Actor(ABC):
    """An actor: a state machine without input or output of its own. Messages go in, messages come out."""

    @property
    @abstractmethod
    def finished(self) -> bool:
        """True once no message will come any more."""

    def begin(self) -> Outbox:
        """The messages that it sends before it has received any."""
        return []

    def check(self, message: Message) -> None:  # noqa: B027  many refuse nothing
        """Refuse what `handle` would refuse, and change nothing.

        Raises:
            ValueError: saying why.
        """

    @abstractmethod
    def handle(self, message: Message, now_s: float = 0.0) -> Outbox:
        """Take one message that arrived at `now_s`, and return what is to be sent for it."""


def run_actor(mailbox: Mailbox, actor: Actor) -> None:
    """Run `actor`'s event loop at `mailbox` until it has finished: receive, handle, send the answers."""
    for dst, answer in actor.begin():
        mailbox.send(dst, answer)
    while not actor.finished:
        message = mailbox.receive()
        for dst, answer in actor.handle(message, mailbox.now()):
            mailbox.send(dst, answer)
    mailbox.close()
