"""Messages on the wire, kept in columns: a million of them take 56 MB."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, overload

import numpy as np

__all__ = ["Message", "Messages", "pack_message"]

_ROW = np.dtype(
    [
        ("src", "<i4"),
        ("dst", "<i4"),
        ("message_bytes", "<i8"),
        ("send_posted_s", "<f8"),
        ("recv_posted_s", "<f8"),
        ("step", "<i8"),
        ("start_s", "<f8"),
        ("end_s", "<f8"),
    ]
)
_AT_ONCE = 1 << 16  # so many Message objects' worth of rows are unpacked together

pack_message = struct.Struct("<iiqddqdd").pack  # one row of the table, from its columns in order


class Message:
    """One message on the wire. Times are seconds since the program began.

    `step` is its Lamport depth: one more than the largest step that its two ends had completed when they posted it.
    Source: L. Lamport, "Time, clocks, and the ordering of events", CACM 21(7), 1978.
    """

    __slots__ = ("dst", "end_s", "message_bytes", "recv_posted_s", "send_posted_s", "src", "start_s", "step")

    def __init__(
        self,
        src: int,
        dst: int,
        message_bytes: int,
        send_posted_s: float,
        recv_posted_s: float,
        step: int,
        start_s: float = -1.0,
        end_s: float = -1.0,
    ) -> None:
        self.src = src
        self.dst = dst
        self.message_bytes = message_bytes
        self.send_posted_s = send_posted_s
        self.recv_posted_s = recv_posted_s
        self.step = step
        self.start_s = start_s
        self.end_s = end_s

    def __repr__(self) -> str:
        times = f"{self.start_s:.9g} s to {self.end_s:.9g} s"
        return f"Message({self.src} -> {self.dst}, {self.message_bytes} bytes, step {self.step}, {times})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Message) and all(getattr(self, n) == getattr(other, n) for n in self.__slots__)

    __hash__ = None  # type: ignore[assignment]

    def __getstate__(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in self.__slots__)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        for name, value in zip(self.__slots__, state, strict=True):
            setattr(self, name, value)


class Messages(Sequence[Message]):
    """A sequence of messages that makes each `Message` when it is asked for; `column` gives one field of all.

    >>> messages = Messages.of([Message(0, 1, 400, 0.0, 0.0, step=1), Message(1, 2, 300, 0.0, 0.5, step=2)])
    >>> messages[1].src, len(messages), messages.column("message_bytes").tolist()
    (1, 2, [400, 300])
    """

    def __init__(self, rows: bytes | bytearray = b"") -> None:
        self._table = np.frombuffer(rows, _ROW)

    @classmethod
    def of(cls, messages: Iterable[Message]) -> Messages:
        """The same messages in columns."""
        names = _ROW.names or ()
        return cls(b"".join(pack_message(*[getattr(message, name) for name in names]) for message in messages))

    def column(self, name: str) -> np.ndarray:
        """One field of every message, by the name that it has in `Message`."""
        return self._table[name]

    def __len__(self) -> int:
        return len(self._table)

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> list[Message]: ...
    def __getitem__(self, index: int | slice) -> Message | list[Message]:
        found = self._table[index].tolist()
        return [Message(*row) for row in found] if isinstance(index, slice) else Message(*found)

    def __iter__(self) -> Iterator[Message]:
        for first in range(0, len(self), _AT_ONCE):
            yield from self[first : first + _AT_ONCE]

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Messages):
            return np.array_equal(self._table, other._table)
        return list(self) == other

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"[{', '.join(map(repr, self[:3]))}{', ...' if len(self) > 3 else ''}]"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._table.tobytes(),)
