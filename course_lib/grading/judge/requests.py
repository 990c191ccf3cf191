"""What a rank asks of the judge, read from its frames. Whatever is out of range is refused: nothing here is trusted."""

from __future__ import annotations

import re
from typing import Any

from course_lib.grading.exercise import Failure
from course_lib.grading.judge.peer import Posted
from course_lib.grading.sandbox.frames import MAX_BODY_BYTES, FrameError, Payload

TEXT_LENGTH = 600
MAX_SECONDS = 1e9
MAX_CALLS = 10_000
SLOW_CELLS = "slow cells"  # a kind of failure, which names
WHICH_CELLS = re.compile(r"\d{1,4}:\d{1,7}( \d{1,4}:\d{1,7}){,60}")  # cells, and from which line on


def send(rank: int, world_size: int, value: Any) -> Posted:
    """A SEND."""
    handle, dst, payload, where, channel = value
    demand(isinstance(payload, Payload))
    return _posted(rank, handle, _peer(rank, world_size, dst), payload, where, "send", channel, world_size)


def receive(rank: int, world_size: int, value: Any) -> Posted:
    """A RECV."""
    handle, src, like, shape, where, channel = value
    demand(isinstance(like, Payload) and isinstance(shape, list) and len(shape) <= 8)
    demand(all(type(size) is int and 0 <= size <= MAX_BODY_BYTES for size in shape))
    peer = None if type(src) is int and src == -1 else _peer(rank, world_size, src)
    return _posted(rank, handle, peer, Payload(like.dtype, tuple(shape), None), where, "recv", channel, world_size)


def compute_seconds(value: Any) -> float:
    """The seconds of a COMPUTE."""
    demand(isinstance(value, float) and 0 <= value < MAX_SECONDS)
    return value


def result(value: Any) -> list[list[Any]]:
    """The returned values and the arguments afterwards, of a RESULT."""
    demand(isinstance(value, list) and len(value) == 2 and all(isinstance(each, list) for each in value))
    return value


def failure_of(rank: int, value: Any) -> Failure:
    """What an ERROR means."""
    *texts, call = value
    demand(type(call) is int and 0 <= call < MAX_CALLS)
    cause, text, where = map(plain, texts)
    if cause == "CellError":
        demand(text.startswith(("code cell ", "no cell defines ")))
        return Failure("no function", text, rank)
    if cause == "SlowCells":
        demand(WHICH_CELLS.fullmatch(text) is not None)
        return Failure(SLOW_CELLS, text, rank)
    if cause == "NotImplementedError" and not text:  # torch says what it cannot do
        text = "not attempted yet: the function still raises NotImplementedError"
        return Failure("not attempted", text, rank, where, cause)
    if cause == "TimeoutError":
        text = f"rank {rank} was {text}" + (f", in {where}" if where else "") + " (an endless loop?)"
        return Failure("timeout", text, rank, where, cause, call)
    place = f" ({where})" if where else ""
    return Failure("exception", f"rank {rank} raised {cause}: {text}{place}", rank, where, cause, call)


def demand(truth: bool) -> None:
    """Refuse a frame unless this holds."""
    if not truth:
        raise FrameError("a value out of range")


def plain(text: Any) -> str:
    """Text of a student's process, shortened and without control characters."""
    demand(isinstance(text, str))
    return "".join(c if c.isprintable() else " " for c in text[:TEXT_LENGTH])


def _peer(rank: int, world_size: int, peer: Any) -> int:
    demand(type(peer) is int and 0 <= peer < world_size and peer != rank)
    return peer


def _posted(
    rank: int, handle: Any, peer: int | None, payload: Payload, where: Any, verb: str, channel: Any, world_size: int
) -> Posted:
    demand(type(handle) is int)
    demand(isinstance(channel, list) and len(channel) <= 2)
    names = tuple(_name(each, world_size) for each in channel)
    demand("barrier" not in names or (peer is not None and payload.shape == (0,)))  # its messages say nothing
    return Posted(rank, peer, payload, plain(where), handle, verb, names)


def _name(name: Any, world_size: int) -> str | tuple[int, ...]:
    """The name of a barrier, or that of a group: its ranks, each once."""
    if name == "barrier":
        return name
    demand(isinstance(name, list) and len(set(name)) == len(name))
    demand(all(type(rank) is int and 0 <= rank < world_size for rank in name))
    return tuple(name)
