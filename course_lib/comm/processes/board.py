"""A table in shared memory where ranks say what they post and what they are blocked in.

Gloo takes too few bytes for too many, one dtype for another, and aborts on too many bytes. So both sides of every
message write its dtype and shape here before they post it: the receiver compares, and after a crash or a hang the
parent reads who waited for what.
"""

from __future__ import annotations

import mmap
import struct
from pathlib import Path
from typing import NamedTuple

from course_lib.comm.errors import JOIN, MismatchError, Pending, mismatch_error
from course_lib.comm.source_location import SourceLocation, describe_line

__all__ = ["Board", "Entry"]

_SLOTS = 16  # messages in flight on one link whose two sides can still be compared
_KINDS = {"send": 0, "recv": 1, "barrier send": 2, "barrier recv": 3}
_ENTRY = struct.Struct("<q64sq160s")  # number + 1, dtype and shape, line, file
_STATE = struct.Struct("<q16sqq160sqqd")  # changes, verb, peer (-1: any), line, file, message, under way, ready


class Entry(NamedTuple):
    """One side of a message as its rank described it before posting."""

    number: int
    envelope: str
    line: int
    file: str

    @property
    def where(self) -> str:
        return describe_line(self.file, self.line)


class Board:
    """The shared table of one run, in a file of the run's own folder.

    Every rank writes only its own rows: `sends[src][dst]` and `recvs[dst][src]` hold its last 16 messages on that
    link, `states[rank]` what it is blocked in. A receive from anyone stands in `recvs[dst][dst]`.
    """

    def __init__(self, path: Path, world_size: int, create: bool = False) -> None:
        self.world_size, self._path = world_size, path
        self._table = world_size * world_size * _SLOTS * _ENTRY.size
        self._states = len(_KINDS) * self._table
        size = self._states + world_size * _STATE.size
        if create:
            with path.open("wb") as file:
                file.truncate(size)
        with path.open("r+b") as file:
            self._memory = mmap.mmap(file.fileno(), size)

    def beside(self, create: bool = False) -> Board:
        """The table of the same ranks' started functions, in a file of its own."""
        return Board(self._path.with_name("started"), self.world_size, create)

    def close(self) -> None:
        """Give the memory back."""
        self._memory.close()

    def post(self, kind: str, rank: int, peer: int, number: int, envelope: str, at: SourceLocation) -> None:
        """Write one side of message `number` between rank and peer; `kind` is a key of _KINDS."""
        offset = self._offset(kind, rank, peer, number)
        file, line = at.file_and_line
        _ENTRY.pack_into(self._memory, offset, 0, envelope.encode()[:64], line, file.encode()[-160:])
        struct.pack_into("<q", self._memory, offset, number + 1)

    def entry(self, kind: str, rank: int, peer: int, number: int) -> Entry | None:
        """That side of message `number`, or None if it is not there (not yet, or no longer)."""
        found, envelope, line, file = _ENTRY.unpack_from(self._memory, self._offset(kind, rank, peer, number))
        if found != number + 1:
            return None
        return Entry(number, _text(envelope), line, _text(file))

    def block(self, rank: int, changes: int, verb: str, peer: int | None, number: int, at: SourceLocation) -> None:
        """Say that a rank is blocked in `verb` on message `number` with `peer`."""
        file, line = at.file_and_line
        packed = (changes, verb.encode(), -1 if peer is None else peer, line, file.encode()[-160:], number)
        struct.pack_into("<q16sqq160sq", self._memory, self._states + rank * _STATE.size, *packed)

    def go_on(self, rank: int) -> None:
        """Say that a rank is not blocked any more."""
        struct.pack_into("<q16s", self._memory, self._states + rank * _STATE.size, 0, b"")

    def set_under_way(self, rank: int, functions: int) -> None:
        """Say how many functions this rank has started that have not ended."""
        struct.pack_into("<q", self._memory, self._states + (rank + 1) * _STATE.size - 16, functions)

    def under_way(self, rank: int) -> int:
        """How many functions this rank has started that have not ended."""
        return self._state(rank)[6]

    def set_ready(self, rank: int, at_s: float) -> None:
        """Say when this rank was ready to begin, on the machine's clock."""
        struct.pack_into("<d", self._memory, self._states + (rank + 1) * _STATE.size - 8, at_s)

    def start_s(self) -> float:
        """When the last rank was ready; 0 while some are not."""
        ready_s = [self._state(rank)[7] for rank in range(self.world_size)]
        return max(ready_s) if all(ready_s) else 0.0

    def pending(self, rank: int) -> Pending | None:
        """What the rank is blocked in, or None."""
        _, verb, peer, line, file, *_ = self._state(rank)
        if not _text(verb):
            return None
        return Pending(_text(verb), None if peer < 0 else peer, describe_line(_text(file), line))

    def stuck(self, rank: int) -> tuple | None:
        """The rank's blocked state if the other side of what it waits for is surely not posted, else None.

        For a receive from anyone `number` is how many messages the rank has received so far. A rank that waits for a
        function it started is stuck if that function is, which stands on the table beside this one.
        """
        changes, verb, peer, _, _, number, *_ = self._state(rank)
        verb = _text(verb)
        if not verb:
            return None
        if verb == JOIN:
            return changes, verb, number
        if peer < 0:
            posted = sum(self._newest("send", src, rank) + 1 for src in range(self.world_size))
            return None if posted > number else (changes, verb, peer)
        other = ("barrier " if "barrier" in verb else "") + ("recv" if "send" in verb else "send")
        takes_anything = other == "recv" and self._newest("recv", peer, peer) >= 0
        if takes_anything or self._newest(other, peer, rank) >= number:
            return None
        return changes, verb, peer

    def mismatch(self) -> MismatchError | None:
        """The first message whose two sides disagree, among those still in the table."""
        for src in range(self.world_size):
            for dst in range(self.world_size):
                newest = self._newest("recv", dst, src)
                for number in range(max(0, newest - _SLOTS + 1), newest + 1):
                    if error := self.compare(src, dst, number, src, number):
                        return error
        return None

    def compare(self, src: int, dst: int, send: int, slot: int, recv: int) -> MismatchError | None:
        """The error that names both sides if send `send` and receive `recv`, which stands in `slot`, disagree."""
        if self._packed_envelope("send", src, dst, send) == self._packed_envelope("recv", dst, slot, recv):
            return None
        sent, expected = self.entry("send", src, dst, send), self.entry("recv", dst, slot, recv)
        if sent is None or expected is None:
            return None
        return mismatch_error(src, sent.envelope, sent.where, dst, expected.envelope, expected.where)

    def _newest(self, kind: str, rank: int, peer: int) -> int:
        """Number of the last message that the rank posted on this link; -1 if none."""
        first = self._offset(kind, rank, peer, 0)
        entries = range(first, first + _SLOTS * _ENTRY.size, _ENTRY.size)
        return max(struct.unpack_from("<q", self._memory, offset)[0] for offset in entries) - 1

    def _offset(self, kind: str, rank: int, peer: int, number: int) -> int:
        return _KINDS[kind] * self._table + ((rank * self.world_size + peer) * _SLOTS + number % _SLOTS) * _ENTRY.size

    def _packed_envelope(self, kind: str, rank: int, peer: int, number: int) -> bytes:
        """The 64 bytes behind an entry's number, as they stand: to compare them nothing needs to be decoded."""
        offset = self._offset(kind, rank, peer, number) + 8
        return self._memory[offset : offset + 64]

    def _state(self, rank: int) -> tuple:
        return _STATE.unpack_from(self._memory, self._states + rank * _STATE.size)


def _text(packed: bytes) -> str:
    return packed.rstrip(b"\0").decode(errors="replace")
