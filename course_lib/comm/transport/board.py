"""The board: a table in shared memory where ranks write what they post and what they are blocked in.

Gloo takes too few bytes for too many, one dtype for another, and aborts on too many bytes. So both sides of every
message write its dtype and shape here before they post it: the receiver compares, and after a crash or a hang the
parent reads who waited for what.
"""

from __future__ import annotations

import mmap
import struct
from pathlib import Path
from typing import Any, NamedTuple

from course_lib.comm.collective import CollectiveProgress, codes_agree
from course_lib.comm.errors import JOIN, MismatchError, Pending, mismatch_error, order_error
from course_lib.comm.source_location import SourceLocation, describe_line

UNSURE = -1  # the number of a message of which its rank cannot say whether it is still to come
ENDED, FAILED = "ended", "failed"  # in place of what it is blocked in: a rank's program has ended, and how
_SLOTS = 16  # messages in flight on one link whose two sides can still be compared
_COUNTERS = 8  # of one link: channels whose codes agree modulo 8 are counted together
_KINDS = {"send": 0, "recv": 1}
# code of the channel and number + 1, dtype and shape, code and number of the collective, line, file
_ENTRY = struct.Struct("<q64sQqq160s")
_COMPARED = slice(8, 8 + 64 + 8)  # of an entry: what both sides must agree on
_CALLS = 16  # collectives of a rank that can still be named
_CALL = struct.Struct("<q96sq160s")  # number + 1, kind and name, line, file
_PROGRESS = struct.Struct("<qq")  # collectives begun, and ended
# changes, verb, peer (-1: any), line, file, message, channel, started functions under way, when it was ready
_STATE = struct.Struct("<q16sqq160sqqqd")
_COUNTER = struct.Struct("<q")


class BoardEntry(NamedTuple):
    """One side of a message as its rank described it before posting."""

    number: int
    envelope: str
    line: int
    file: str
    collective_code: int
    collective: int  # its number among those of its rank

    @property
    def where(self) -> str:
        return describe_line(self.file, self.line)


class Board:
    """The shared table of one run, in a file of the run's own folder.

    Every rank writes only its own rows: `sends[src][dst]` and `recvs[dst][src]` hold its last 16 messages on that
    link, `states[rank]` what it is blocked in, and counters how many it has posted. A receive from anyone stands in
    `recvs[dst][dst]`, where those that have not taken a message are counted; then it counts as one from its sender.
    `calls[rank]` are its last 16 collectives, behind how many it has begun and ended.

    Channels are told apart by their codes. Two that share a counter look like more messages than there are: a rank
    that waits on one may then not be known to be stuck, but none is called stuck that is not.
    """

    def __init__(self, path: Path, world_size: int) -> None:
        self.world_size, self._path = world_size, path
        self._table = world_size * world_size * _SLOTS * _ENTRY.size
        self._counters = len(_KINDS) * self._table
        self._states = self._counters + len(_KINDS) * world_size * world_size * _COUNTERS * _COUNTER.size
        self._calls = self._states + world_size * _STATE.size
        with path.open("r+b") as file:
            self._memory = mmap.mmap(file.fileno(), self.file_bytes(world_size))
        self._started_queue: Board | None = None

    @staticmethod
    def file_bytes(world_size: int) -> int:
        """The size of a board's file."""
        link_bytes = _SLOTS * _ENTRY.size + _COUNTERS * _COUNTER.size
        rank_bytes = _STATE.size + _PROGRESS.size + _CALLS * _CALL.size
        return len(_KINDS) * world_size * world_size * link_bytes + world_size * rank_bytes

    def started_board(self) -> Board:
        """The table of the same ranks' started functions, in a file of its own."""
        if self._started_queue is None:
            self._started_queue = Board(self._path.with_name("started"), self.world_size)
        return self._started_queue

    def close(self) -> None:
        """Give the memory back."""
        self._memory.close()

    def post(
        self,
        kind: str,
        rank: int,
        peer: int,
        number: int,
        envelope: str,
        at: SourceLocation,
        channel: int = 0,
        collective_code: int = 0,
        collective: int = 0,
    ) -> None:
        """Write one side of message `number` of a channel between rank and peer; `kind` is "send" or "recv".

        Args:
            collective: the number among the rank's own of the collective that it belongs to, if the code is not 0.
        """
        offset = self._offset(kind, rank, peer, number)
        file, line = at.file_and_line
        about = collective_code, collective, line, file.encode()[-160:]
        _ENTRY.pack_into(self._memory, offset, 0, envelope.encode()[:64], *about)
        struct.pack_into("<q", self._memory, offset, _key(channel, number))
        self._count(kind, rank, peer, channel, 1)

    def took_from_anyone(self, rank: int, src: int, channel: int = 0) -> None:
        """Say that a receive from anyone has taken a message from `src`."""
        self._count("recv", rank, src, channel, 1)
        self._count("recv", rank, rank, channel, -1)

    def entry(self, kind: str, rank: int, peer: int, number: int, channel: int = 0) -> BoardEntry | None:
        """That side of message `number`, or None if it is not there (not yet, or no longer)."""
        packed = _ENTRY.unpack_from(self._memory, self._offset(kind, rank, peer, number))
        found, envelope, code, collective, line, file = packed
        if found != _key(channel, number):
            return None
        return BoardEntry(number, _text(envelope), line, _text(file), code, collective)

    def begin_collective(self, rank: int, number: int, text: str, at: SourceLocation) -> None:
        """Say that a rank begins its collective of this number, from 0 on; `text` is its label in words."""
        file, line = at.file_and_line
        call = number + 1, text.encode()[:96], line, file.encode()[-160:]
        _CALL.pack_into(self._memory, self._call(rank, number), *call)
        _COUNTER.pack_into(self._memory, self._progress(rank), number + 1)

    def end_collective(self, rank: int) -> None:
        """Say that a rank has ended the collective that it was in."""
        offset = self._progress(rank)
        begun, ended = _PROGRESS.unpack_from(self._memory, offset)
        _PROGRESS.pack_into(self._memory, offset, begun, ended + 1)

    def collectives(self) -> list[CollectiveProgress]:
        """How many collectives each rank has begun and ended, in its program and in what it has started."""
        programs = [self.progress(rank) for rank in range(self.world_size)]
        return [one.with_started(self.started_board().progress(one.rank)) for one in programs]

    def progress(self, rank: int) -> CollectiveProgress:
        """How many collectives a rank has begun and ended on this table, and the last that it began."""
        begun, ended = _PROGRESS.unpack_from(self._memory, self._progress(rank))
        if not begun:
            return CollectiveProgress(rank, 0, 0)
        _, text, line, file = _CALL.unpack_from(self._memory, self._call(rank, begun - 1))
        return CollectiveProgress(rank, begun, ended, _text(text), describe_line(_text(file), line))

    def _collective(self, rank: int, number: int) -> str:
        """A rank's collective in words."""
        found, text, *_ = _CALL.unpack_from(self._memory, self._call(rank, number))
        return _text(text) if found == number + 1 else "another collective"

    def _call(self, rank: int, number: int) -> int:
        return self._progress(rank) + _PROGRESS.size + number % _CALLS * _CALL.size

    def _progress(self, rank: int) -> int:
        return self._calls + rank * (_PROGRESS.size + _CALLS * _CALL.size)

    def block(
        self, rank: int, changes: int, verb: str, peer: int | None, number: int, at: SourceLocation, channel: int = 0
    ) -> None:
        """Say that a rank is blocked in `verb` on message `number` with `peer`."""
        file, line = at.file_and_line
        packed = (changes, verb.encode(), -1 if peer is None else peer, line, file.encode()[-160:], number, channel)
        struct.pack_into("<q16sqq160sqq", self._memory, self._states + rank * _STATE.size, *packed)

    def go_on(self, rank: int) -> None:
        """Say that a rank is not blocked any more."""
        struct.pack_into("<q16s", self._memory, self._states + rank * _STATE.size, 0, b"")

    def end(self, rank: int, how: str) -> None:
        """Say that a rank's program has `ENDED`, or that it has `FAILED` and said so itself."""
        struct.pack_into("<q16s", self._memory, self._states + rank * _STATE.size, 0, how.encode())

    def ended(self, how: str) -> list[int]:
        """The ranks that have said so."""
        return [rank for rank in range(self.world_size) if _text(self._state(rank)[1]) == how]

    def last_wait(self, rank: int) -> str:
        """The line in which a rank has waited last, in words; nothing if it never has."""
        _, _, _, line, file, *_ = self._state(rank)
        return describe_line(_text(file), line) if line else ""

    def set_under_way(self, rank: int, functions: int) -> None:
        """Say how many functions this rank has started that have not ended."""
        struct.pack_into("<q", self._memory, self._states + (rank + 1) * _STATE.size - 16, functions)

    def under_way(self, rank: int) -> int:
        """How many functions this rank has started that have not ended."""
        return self._state(rank)[7]

    def set_ready(self, rank: int, at_s: float) -> None:
        """Say when this rank was ready to begin, on the machine's clock."""
        struct.pack_into("<d", self._memory, self._states + (rank + 1) * _STATE.size - 8, at_s)

    def start_s(self) -> float:
        """When the last rank was ready; 0 while some are not."""
        ready_s = [self._state(rank)[8] for rank in range(self.world_size)]
        return max(ready_s) if all(ready_s) else 0.0

    def pending(self, rank: int) -> Pending | None:
        """What the rank is blocked in, or None."""
        _, verb, peer, line, file, *_ = self._state(rank)
        if not _text(verb):
            return None
        return Pending(_text(verb), None if peer < 0 else peer, describe_line(_text(file), line))

    def stuck(self, rank: int) -> tuple[Any, ...] | None:
        """The rank's blocked state if the other side of what it waits for is surely not posted, else None.

        A rank that waits for a function it started is stuck if that function is, as the table of those says.
        """
        changes, verb, peer, _, _, number, channel, *_ = self._state(rank)
        verb = _text(verb)
        if verb == JOIN:
            return changes, verb, number
        if not verb or number == UNSURE or self._may_come(rank, "send" in verb, peer, number, channel):
            return None
        return changes, verb, peer

    def _may_come(self, rank: int, sends: bool, peer: int, number: int, channel: int) -> bool:
        """True if the other side of what the rank waits for is there, as far as counters can tell."""
        if sends:
            from_anyone = self._counted("recv", peer, peer, channel)
            return from_anyone > 0 or self._counted("recv", peer, rank, channel) > number
        if peer >= 0:
            return self._counted("send", peer, rank, channel) > number
        others = (src for src in range(self.world_size) if src != rank)
        return any(
            self._counted("send", src, rank, channel) > self._counted("recv", rank, src, channel) for src in others
        )

    def mismatch(self) -> MismatchError | None:
        """The first message whose two sides disagree, among those still in the table."""
        for src in range(self.world_size):
            for dst in range(self.world_size):
                for channel, number in sorted(self._kept("recv", dst, src)):
                    if error := self.compare(src, dst, number, src, number, channel):
                        return error
        return None

    def compare(self, src: int, dst: int, send: int, slot: int, recv: int, channel: int = 0) -> MismatchError | None:
        """The error that names both sides if send `send` and receive `recv`, which stands in `slot`, disagree."""
        if self._compared("send", src, dst, send) == self._compared("recv", dst, slot, recv):
            return None
        sent, expected = self.entry("send", src, dst, send, channel), self.entry("recv", dst, slot, recv, channel)
        if sent is None or expected is None:
            return None
        if not codes_agree(sent.collective_code, expected.collective_code):
            labels = self._collective(src, sent.collective), self._collective(dst, expected.collective)
            return order_error(src, labels[0], sent.where, dst, labels[1], expected.where)
        if sent.envelope == expected.envelope:
            return None
        return mismatch_error(src, sent.envelope, sent.where, dst, expected.envelope, expected.where)

    def _kept(self, kind: str, rank: int, peer: int) -> list[tuple[int, int]]:
        """Channel and number of the messages that the rank has posted on this link and that are still in the table."""
        first = self._offset(kind, rank, peer, 0)
        entries = range(first, first + _SLOTS * _ENTRY.size, _ENTRY.size)
        keys = [struct.unpack_from("<q", self._memory, offset)[0] for offset in entries]
        return [(key >> 32, (key & 0xFFFFFFFF) - 1) for key in keys if key]

    def _count(self, kind: str, rank: int, peer: int, channel: int, more: int) -> None:
        offset = self._counter(kind, rank, peer, channel)
        _COUNTER.pack_into(self._memory, offset, _COUNTER.unpack_from(self._memory, offset)[0] + more)

    def _counted(self, kind: str, rank: int, peer: int, channel: int) -> int:
        """How many the rank has posted on this link and channel, or more."""
        return _COUNTER.unpack_from(self._memory, self._counter(kind, rank, peer, channel))[0]

    def _counter(self, kind: str, rank: int, peer: int, channel: int) -> int:
        link = (_KINDS[kind] * self.world_size + rank) * self.world_size + peer
        return self._counters + (link * _COUNTERS + channel % _COUNTERS) * _COUNTER.size

    def _offset(self, kind: str, rank: int, peer: int, number: int) -> int:
        return _KINDS[kind] * self._table + ((rank * self.world_size + peer) * _SLOTS + number % _SLOTS) * _ENTRY.size

    def _compared(self, kind: str, rank: int, peer: int, number: int) -> bytes:
        """What both sides must agree on, as it stands: to compare it nothing needs to be decoded."""
        offset = self._offset(kind, rank, peer, number)
        return self._memory[offset + _COMPARED.start : offset + _COMPARED.stop]

    def _state(self, rank: int) -> tuple[Any, ...]:
        return _STATE.unpack_from(self._memory, self._states + rank * _STATE.size)


def share_a_counter(channel: int, other: int) -> bool:
    """True if the messages of two channels are counted together."""
    return channel % _COUNTERS == other % _COUNTERS


def _text(packed: bytes) -> str:
    return packed.rstrip(b"\0").decode(errors="replace")


def _key(channel: int, number: int) -> int:
    """What tells an entry from those of other messages: never 0, which stands for none."""
    return channel << 32 | number + 1
