"""Each rank's log of its messages, and `merge`, which pairs sends with receives and makes one trace of all logs."""

from __future__ import annotations

import functools
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from course_lib.comm.collective import Calls, Label, agree
from course_lib.comm.errors import Leftover, mismatch_error, order_error
from course_lib.comm.source_location import SourceLocation, describe_line
from course_lib.comm.trace import Message, Span, StartedSpan, Trace


@dataclass(slots=True)
class LogRow:
    """One operation of one rank; ticks count the posts and completions of this rank, in its own order."""

    kind: str
    peer: Any  # a rank, or None in a receive from anyone that nobody waited for
    envelope: str  # dtype and shape
    message_bytes: int
    posted_s: float
    posted_tick: int
    location: tuple[str, int]
    done_s: float | None = None
    done_tick: int | None = None
    channel: tuple[Any, ...] = ()  # it meets only operations on the same one
    collective: Label | None = None  # the one that it belongs to


class Log:
    """What one rank did, in its own order: the parent makes the trace of all these.

    Its started functions have a log of their own, `started`. `marks` tell how the two orders depend on each other:
    (tick, whether it comes before, what), as in "start 3", which comes before "start 3" in the other log.
    """

    def __init__(self, stream: str = "") -> None:
        self.calls = Calls(stream)
        self.started: Log | None = None
        self.marks: list[tuple[int, bool, str]] = []
        self.operations: list[LogRow] = []
        self.carriers: Counter[str] = Counter()  # how many messages with content each of them took away
        self.spans: list[tuple[Any, ...]] = []
        self.waits: list[tuple[Any, ...]] = []
        self._ticks = -1

    def post(
        self,
        kind: str,
        peer: int | None,
        tensor: torch.Tensor,
        at_s: float,
        at: SourceLocation,
        channel: tuple[Any, ...] = (),
        collective: Label | None = None,
    ) -> LogRow:
        """Note that an operation was posted, and return its row."""
        envelope = _envelope(tensor.dtype, tensor.shape)
        row = LogRow(kind, peer, envelope, tensor.nbytes, at_s, self._tick(), at.file_and_line)
        row.channel, row.collective = channel, collective
        self.operations.append(row)
        return row

    def done(self, row: LogRow, peer: int, at_s: float) -> None:
        """Note that an operation's message has ended."""
        row.peer = peer
        row.done_s = at_s
        row.done_tick = self._tick()

    def mark(self, before: bool, what: str) -> None:
        """Note a moment that comes before (else after) one in the other log of this rank."""
        self.marks.append((self._tick(), before, what))

    def _tick(self) -> int:
        """The number of the next moment in this rank's order."""
        self._ticks += 1
        return self._ticks


@functools.lru_cache(maxsize=1024)
def _envelope(dtype: torch.dtype, shape: torch.Size) -> str:
    """What both sides of a message must agree on, in words."""
    return f"{dtype} of shape {tuple(shape)}"


def carried(logs: Sequence[Log]) -> str:
    """How many messages each carrier took, in words; "" without messages.

    >>> one, other = Log(), Log()
    >>> one.carriers["nccl"], other.carriers["nccl"], other.carriers["gloo"] = 3, 2, 1
    >>> carried([one, other])
    'nccl 5, gloo 1'
    """
    every = Counter[str]()
    for log in logs:
        every += log.carriers + (log.started.carriers if log.started is not None else Counter())
    return ", ".join(f"{name} {count}" for name, count in every.most_common())


def merge(logs: Sequence[Log], seconds: float) -> tuple[Trace, list[Leftover]]:
    """One trace of all ranks' logs, and the operations whose other side was never posted.

    The n-th send of a link belongs to the n-th receive of that link: messages between two ranks do not overtake. Those
    of barriers and of groups are counted apart, and so are those of started functions.

    Raises:
        MismatchError: if the two sides of a message disagree: what the ranks could not compare while they ran.
    """
    streams = [(rank, False, log) for rank, log in enumerate(logs)]
    streams += [(rank, True, log.started) for rank, log in enumerate(logs) if log.started is not None]
    sends: dict[tuple[Any, ...], list[LogRow]] = defaultdict(
        list
    )  # by source, destination, and the channel they are on
    recvs: dict[tuple[Any, ...], list[LogRow]] = defaultdict(list)
    for rank, started, log in streams:
        for row in log.operations:
            link = (rank, row.peer) if row.kind == "send" else (row.peer, rank)
            (sends if row.kind == "send" else recvs)[(*link, (started, row.channel))].append(row)
    messages: dict[int, Message] = {}  # by the identity of each of its two rows
    left = []
    for link in sorted({*sends, *recvs}, key=str):
        for send, recv in zip(sends[link], recvs[link], strict=False):
            messages[id(send)] = messages[id(recv)] = _message(link[0], link[1], send, recv)
        done = min(len(sends[link]), len(recvs[link]))
        sends[link], recvs[link] = sends[link][done:], recvs[link][done:]
    for src, dst, send, recv in _taken_by_anyone(sends, recvs):
        messages[id(send)] = messages[id(recv)] = _message(src, dst, send, recv)
    for (src, dst, _), rows in sorted(sends.items(), key=str):
        left += [Leftover("isend", src, dst, _unmet(row)) for row in rows]
    for (src, dst, _), rows in sorted(recvs.items(), key=str):
        left += [Leftover("irecv", dst, src, _unmet(row)) for row in rows]
    _count_steps(streams, messages)
    unique = {id(message): message for message in messages.values()}.values()
    ordered = sorted(unique, key=lambda m: (m.start_s, m.end_s, m.src, m.dst))
    kinds = [(StartedSpan if started else Span, log) for _, started, log in streams]
    spans = sorted((kind(*span) for kind, log in kinds for span in log.spans), key=lambda span: span.end_s)
    waits = sorted((kind(*wait) for kind, log in kinds for wait in log.waits), key=lambda wait: wait.end_s)
    calls = [call for _, _, log in streams for call in log.calls]
    return Trace(len(logs), ordered, spans, waits, seconds, calls), left


def _taken_by_anyone(sends: dict[Any, Any], recvs: dict[Any, Any]) -> Iterator[tuple[int, int, LogRow, LogRow]]:
    """Pair receives from anyone that were never waited for with the earliest sends still left over; takes both out."""
    for _, dst, channel in [link for link in recvs if link[0] is None]:
        links = [link for link in sends if link[1:] == (dst, channel)]
        while recvs[None, dst, channel] and any(sends[link] for link in links):
            link = min((link for link in links if sends[link]), key=lambda link: sends[link][0].posted_s)
            yield link[0], dst, sends[link].pop(0), recvs[None, dst, channel].pop(0)


def _where(row: LogRow) -> str:
    return describe_line(*row.location)


def _unmet(row: LogRow) -> str:
    """The line of an operation whose other side the communicator has not seen; it may have had one all the same."""
    met = "\n    it met a message of torch.distributed's own functions: use the communicator on both sides"
    return _where(row) + met * (row.done_s is not None)


def _message(src: int, dst: int, send: LogRow, recv: LogRow) -> Message:
    """A message starts when both sides are posted; it ends when its receiver (else its sender) saw that it had."""
    if not agree(send.collective, recv.collective):
        raise order_error(src, send.collective, _where(send), dst, recv.collective, _where(recv))
    if send.envelope != recv.envelope:
        raise mismatch_error(src, send.envelope, _where(send), dst, recv.envelope, _where(recv))
    start_s = max(send.posted_s, recv.posted_s)
    seen_s = recv.done_s if recv.done_s is not None else send.done_s
    end_s = max(start_s, seen_s if seen_s is not None else start_s)
    return Message(src, dst, send.message_bytes, send.posted_s, recv.posted_s, 0, start_s, end_s)


def _count_steps(streams: Sequence[tuple[int, bool, Log]], messages: dict[int, Message]) -> None:
    """Give each message its Lamport depth, by going through every stream's posts and completions in its own order."""
    events = [iter(_events(rank, log, messages)) for rank, _, log in streams]
    seen, posted = [0] * len(streams), dict.fromkeys(map(id, messages.values()), 0)
    marked: dict[str, int] = {}  # steps seen at the marks that come before those of the same name
    at = [next(stream_events, None) for stream_events in events]
    moved = True
    while moved:
        moved = False
        for stream, stream_events in enumerate(events):
            while (event := at[stream]) is not None:
                leads, what = event
                if isinstance(what, str):
                    if leads:
                        marked[what] = seen[stream]
                    elif what not in marked:
                        break  # the mark before it is still to come
                    else:
                        seen[stream] = max(seen[stream], marked[what])
                elif leads:
                    posted[id(what)] += 1
                    what.step = max(what.step, 1 + seen[stream])
                elif posted[id(what)] < 2:
                    break  # its other side is still to come
                else:
                    seen[stream] = max(seen[stream], what.step)
                at[stream], moved = next(stream_events, None), True


def _events(rank: int, log: Log, messages: dict[int, Message]) -> list[tuple[bool, Message | str]]:
    """A stream's posts (True) and completions (False) of messages and its marks (before: True), in its own order."""
    ticks: dict[int, tuple[bool, Message | str]] = {}
    for row in log.operations:
        if id(row) in messages:
            ticks[row.posted_tick] = True, messages[id(row)]
            if row.done_tick is not None:
                ticks[row.done_tick] = False, messages[id(row)]
    for tick, before, what in log.marks:
        ticks[tick] = before, f"rank {rank}: {what}"
    return [ticks[tick] for tick in sorted(ticks)]
