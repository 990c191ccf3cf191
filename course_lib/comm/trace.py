"""The report of an execution and its trace: who sent what to whom, when, how many bytes, and who waited.

Messages are kept in columns: a million of them take 56 MB.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, overload

import numpy as np

from course_lib.comm.collective import CollectiveCall, CollectiveProgress, progress_of

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


WAIT_LABELS = ("send", "recv", "wait")
_WAIT = struct.Struct("<iidd")  # rank, number of the label, start, end
pack_wait = _WAIT.pack


class Span(NamedTuple):
    """A stretch of one rank's time: a labelled piece of work, or a wait inside send, recv or wait.

    `stream` is "" in the program itself and "started" in functions that it started.
    """

    rank: int
    label: str
    start_s: float
    end_s: float

    @property
    def stream(self) -> str:
        """Whose it is."""
        return ""


class StartedSpan(Span):
    """A stretch of a function that a rank has started."""

    __slots__ = ()

    @property
    def stream(self) -> str:
        return "started"


class Waits:
    """Waits of programs, kept in columns while they are many: (rank, label, start_s, end_s) when they are gone through.

    >>> waits = Waits()
    >>> waits.rows += pack_wait(3, WAIT_LABELS.index("recv"), 0.5, 2.0)
    >>> list(waits)
    [(3, 'recv', 0.5, 2.0)]
    """

    def __init__(self) -> None:
        self.rows = bytearray()

    def __iter__(self) -> Iterator[tuple[int, str, float, float]]:
        for rank, label, start_s, end_s in _WAIT.iter_unpack(self.rows):
            yield rank, WAIT_LABELS[label], start_s, end_s


class Trace:
    """Everything that crossed the wire in one execution, and what the ranks did meanwhile.

    Counts are exact under every executor. Times are virtual (simulated), paced (emulated) or of the real clock
    (measured); the report's `origin` says which.

    Raises:
        ValueError: if a message, or a stretch of time that is asked for, is of a rank that is not there.
    """

    def __init__(
        self,
        world_size: int,
        messages: Sequence[Message],
        spans: Iterable[tuple[Any, ...]] = (),
        waits: Iterable[tuple[Any, ...]] = (),
        seconds: float = 0.0,
        collectives: Iterable[CollectiveCall] = (),
    ) -> None:
        self.world_size = world_size
        self.messages = messages if isinstance(messages, Messages) else Messages.of(messages)
        self.seconds = seconds
        for name in ("src", "dst"):
            _refuse_outside(world_size, self.messages.column(name), name)
        self._spans = spans
        self._waits = waits
        self._collectives = collectives

    @cached_property
    def spans(self) -> list[Span]:
        """Labelled work (`comm.span`, `comm.compute`), in order of its end."""
        return self._inside(self._spans)

    @cached_property
    def waits(self) -> list[Span]:
        """Stretches in which a rank was blocked inside send, recv or wait."""
        return self._inside(self._waits)

    @cached_property
    def collectives(self) -> list[CollectiveCall]:
        """The collectives that ranks have called, by rank and in order of their begin."""
        return sorted(self._collectives, key=lambda call: (call.rank, call.begun_s))

    def _inside(self, stretches: Iterable[tuple[Any, ...]]) -> list[Span]:
        found = [each if isinstance(each, Span) else Span(*each) for each in stretches]
        _refuse_outside(self.world_size, np.array([each.rank for each in found], np.int64), "rank")
        return found

    @cached_property
    def has_started(self) -> bool:
        """True if a rank worked or waited in a function that it had started."""
        return any(span.stream for span in (*self.spans, *self.waits))

    @property
    def steps(self) -> int:
        """Length of the longest chain of messages in which each had to wait for the one before."""
        return int(self.messages.column("step").max(initial=0))

    @property
    def total_bytes(self) -> int:
        """Bytes that crossed the wire, all messages together."""
        return sum(self.messages.column("message_bytes").tolist())

    @cached_property
    def link_bytes(self) -> list[list[int]]:
        """Bytes by link: `link_bytes[src][dst]`."""
        return self._by_link(self.messages.column("message_bytes"))

    @cached_property
    def link_messages(self) -> list[list[int]]:
        """Messages by link: `link_messages[src][dst]`."""
        return self._by_link(1)

    def _by_link(self, amounts: np.ndarray | int) -> list[list[int]]:
        """Sums of what each message counts, by source and destination."""
        table = np.zeros((self.world_size, self.world_size), np.int64)
        np.add.at(table, (self.messages.column("src"), self.messages.column("dst")), amounts)
        return table.tolist()

    @property
    def bytes_sent(self) -> list[int]:
        """Bytes that each rank sent."""
        return [sum(row) for row in self.link_bytes]

    @property
    def bytes_received(self) -> list[int]:
        """Bytes that each rank received."""
        return [sum(column) for column in zip(*self.link_bytes, strict=True)]

    @property
    def messages_sent(self) -> list[int]:
        """Messages that each rank sent."""
        return [sum(row) for row in self.link_messages]

    @property
    def messages_received(self) -> list[int]:
        """Messages that each rank received."""
        return [sum(column) for column in zip(*self.link_messages, strict=True)]

    @cached_property
    def waiting_s(self) -> list[float]:
        """Seconds each rank's program was blocked while none of its own messages was on the wire."""
        busy: list[list[tuple[float, float]]] = [[] for _ in range(self.world_size)]
        columns = [self.messages.column(name).tolist() for name in ("src", "dst", "start_s", "end_s")]
        for src, dst, start_s, end_s in zip(*columns, strict=True):
            busy[src].append((start_s, end_s))
            busy[dst].append((start_s, end_s))
        blocked: list[list[tuple[float, float]]] = [[] for _ in range(self.world_size)]
        for wait in self.waits:
            if not wait.stream:
                blocked[wait.rank].append((wait.start_s, wait.end_s))
        return [_uncovered(blocked[rank], busy[rank]) for rank in range(self.world_size)]

    def to_chrome(self, path: str | Path | None = None) -> dict[Any, Any]:
        """The trace in Chrome's trace-event format, for chrome://tracing and ui.perfetto.dev; saved at `path`."""
        events: list[dict[Any, Any]] = []
        for rank in range(self.world_size):
            events.append({"name": "thread_name", "ph": "M", "pid": 0, "tid": rank, "args": {"name": f"rank {rank}"}})
        for name, spans in (("work", self.spans), ("wait", self.waits)):
            for s in spans:
                events.append(_chrome_slice(s.label, name, s.rank, s.start_s, s.end_s, {}, pid=3 if s.stream else 0))
        for number, m in enumerate(self.messages):
            about = {"bytes": m.message_bytes, "step": m.step}
            events.append(_chrome_slice(f"to {m.dst}", "send", m.src, m.start_s, m.end_s, about, pid=1))
            events.append(_chrome_slice(f"from {m.src}", "receive", m.dst, m.start_s, m.end_s, about, pid=2))
            arrow = {"name": "message", "cat": "message", "id": number}
            events.append({**arrow, "ph": "s", "pid": 1, "tid": m.src, "ts": m.start_s * 1e6})
            middle_s = (m.start_s + m.end_s) / 2  # viewers bind an arrow's end to the slice that is open there
            events.append({**arrow, "ph": "f", "bp": "e", "pid": 2, "tid": m.dst, "ts": middle_s * 1e6})
        names = ("ranks", "sending ports", "receiving ports", "started functions")
        for pid, name in enumerate(names if self.has_started else names[:3]):
            events.append({"name": "process_name", "ph": "M", "pid": pid, "args": {"name": name}})
        trace = {"traceEvents": events, "displayTimeUnit": "ms"}
        if path is not None:
            Path(path).write_text(json.dumps(trace))
        return trace

    def __repr__(self) -> str:
        counts = f"{len(self.messages)} messages, {self.steps} steps, {self.total_bytes} bytes"
        return f"Trace({self.world_size} ranks, {counts})"


def _refuse_outside(world_size: int, ranks: np.ndarray, name: str) -> None:
    outside = ranks[(ranks < 0) | (ranks >= world_size)]
    if len(outside):
        raise ValueError(f"{name} must be a rank from 0 to {world_size - 1} in this trace, got {outside[0]}")


def merged(of_programs: Iterable[tuple[Any, ...]], of_started: Iterable[tuple[Any, ...]]) -> Iterable[tuple[Any, ...]]:
    """Stretches of time of both, in order of their end."""
    started = [StartedSpan(*span) for span in of_started]
    return sorted([*of_programs, *started], key=lambda span: span[3]) if started else of_programs


def _chrome_slice(
    name: str, kind: str, rank: int, start_s: float, end_s: float, about: dict[Any, Any], pid: int = 0
) -> dict[Any, Any]:
    times = {"ts": start_s * 1e6, "dur": (end_s - start_s) * 1e6}
    return {"name": name, "cat": kind, "ph": "X", "pid": pid, "tid": rank, **times, "args": about}


def _union(stretches: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """The same stretches of time without overlaps, in order."""
    merged: list[tuple[float, float]] = []
    for start, end in sorted(stretches):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _uncovered(blocked: list[tuple[float, float]], busy: list[tuple[float, float]]) -> float:
    """Length of the stretches in `blocked` that no stretch in `busy` covers."""
    total = sum(end - start for start, end in blocked)
    stretches, first = _union(busy), 0
    for start, end in sorted(blocked):
        while first < len(stretches) and stretches[first][1] <= start:
            first += 1
        at = first
        while at < len(stretches) and stretches[at][0] < end:
            total -= min(end, stretches[at][1]) - max(start, stretches[at][0])
            at += 1
    return total


@dataclass(frozen=True)
class Report:
    """The results of all ranks, the time it took and everything that crossed the wire.

    Attributes:
        results: what each rank's program returned, by rank.
        seconds: until the last rank was done; `origin` says on which clock.
        trace: who sent what to whom, when, how many bytes, and who waited.
        origin: "simulated" (virtual clock), "emulated" (real processes, slowed links) or "measured" (real processes).
        backend: what carried the messages, in words; on GPUs with how many each carrier took.
        lag_s: emulated only: how far the real clock was behind the ranks' own ones at the end. While it is small
            compared with `seconds`, everything that communication really costs fitted inside the emulated delays.
    """

    results: list[Any]
    seconds: float
    trace: Trace = field(repr=False)
    origin: str
    backend: str
    lag_s: float = 0.0

    @property
    def collectives(self) -> list[CollectiveProgress]:
        """How many collectives each rank has begun and ended, by rank; `trace.collectives` has each of them."""
        return progress_of(self.trace.collectives, self.trace.world_size)
