"""What one rank of a run writes down while it goes."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import torch

from course_lib.comm.collective import Calls, Label
from course_lib.comm.source_location import SourceLocation

__all__ = ["Log", "Row"]


@dataclass(slots=True)
class Row:
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
        self.operations: list[Row] = []
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
    ) -> Row:
        """Note that an operation was posted, and return its row."""
        envelope = _envelope(tensor.dtype, tensor.shape)
        row = Row(kind, peer, envelope, tensor.nbytes, at_s, self._tick(), at.file_and_line)
        row.channel, row.collective = channel, collective
        self.operations.append(row)
        return row

    def done(self, row: Row, peer: int, at_s: float) -> None:
        """Note that an operation's message has ended."""
        row.peer, row.done_s, row.done_tick = peer, at_s, self._tick()

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
