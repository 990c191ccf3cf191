"""From what each rank wrote down to one trace: pairs sends with receives and counts the steps."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from course_lib.comm.communicator import describe_line
from course_lib.comm.errors import Leftover
from course_lib.comm.processes import Log, Row
from course_lib.comm.trace import Message, Trace

__all__ = ["merge"]


def merge(logs: Sequence[Log], seconds: float) -> tuple[Trace, list[Leftover]]:
    """One trace of all ranks' logs, and the operations whose other side was never posted.

    The n-th send of a link belongs to the n-th receive of that link: messages between two ranks do not overtake. Those
    of barriers are counted apart.
    """
    sends: dict[tuple, list[Row]] = defaultdict(list)  # by source, destination, and whether they are a barrier's
    recvs: dict[tuple, list[Row]] = defaultdict(list)
    for rank, log in enumerate(logs):
        for row in log.operations:
            link = (rank, row.peer) if row.kind == "send" else (row.peer, rank)
            (sends if row.kind == "send" else recvs)[(*link, row.apart)].append(row)
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
        left += [Leftover("isend", src, dst, describe_line(*row.place)) for row in rows]
    for (src, dst, _), rows in sorted(recvs.items(), key=str):
        left += [Leftover("irecv", dst, src, describe_line(*row.place)) for row in rows]
    _count_steps(logs, messages)
    unique = {id(message): message for message in messages.values()}.values()
    ordered = sorted(unique, key=lambda m: (m.start_s, m.end_s, m.src, m.dst))
    spans = sorted((span for log in logs for span in log.spans), key=lambda span: span[3])
    waits = sorted((wait for log in logs for wait in log.waits), key=lambda wait: wait[3])
    return Trace(len(logs), ordered, spans, waits, seconds), left


def _taken_by_anyone(sends: dict, recvs: dict) -> Iterator[tuple[int, int, Row, Row]]:
    """Pair receives from anyone that were never waited for with the earliest sends still left over; takes both out."""
    for dst in [dst for src, dst, _ in recvs if src is None]:
        links = [(src, to, apart) for src, to, apart in sends if to == dst and not apart]
        while recvs[None, dst, False] and any(sends[link] for link in links):
            link = min((link for link in links if sends[link]), key=lambda link: sends[link][0].posted_s)
            yield link[0], dst, sends[link].pop(0), recvs[None, dst, False].pop(0)


def _message(src: int, dst: int, send: Row, recv: Row) -> Message:
    """A message starts when both sides are posted; it ends when its receiver (else its sender) saw that it had."""
    start_s = max(send.posted_s, recv.posted_s)
    seen_s = recv.done_s if recv.done_s is not None else send.done_s
    end_s = max(start_s, seen_s if seen_s is not None else start_s)
    return Message(src, dst, send.message_bytes, send.posted_s, recv.posted_s, 0, start_s, end_s)


def _count_steps(logs: Sequence[Log], messages: dict[int, Message]) -> None:
    """Give each message its Lamport depth, by going through every rank's posts and completions in its own order."""
    events = [iter(_events(log, messages)) for log in logs]
    seen, posted = [0] * len(logs), dict.fromkeys(map(id, messages.values()), 0)
    at: list[tuple[bool, Message] | None] = [next(rank_events, None) for rank_events in events]
    moved = True
    while moved:
        moved = False
        for rank, rank_events in enumerate(events):
            while (event := at[rank]) is not None:
                is_done, message = event
                if is_done and posted[id(message)] < 2:
                    break  # its other side is still to come
                if is_done:
                    seen[rank] = max(seen[rank], message.step)
                else:
                    posted[id(message)] += 1
                    message.step = max(message.step, 1 + seen[rank])
                at[rank], moved = next(rank_events, None), True


def _events(log: Log, messages: dict[int, Message]) -> list[tuple[bool, Message]]:
    """A rank's posts (False) and completions (True) of messages, in its own order."""
    ticks = {}
    for row in log.operations:
        if id(row) in messages:
            ticks[row.posted_tick] = False, messages[id(row)]
            if row.done_tick is not None:
                ticks[row.done_tick] = True, messages[id(row)]
    return [ticks[tick] for tick in sorted(ticks)]
