"""One side of a message, as its rank posts it on the wire."""

from __future__ import annotations

from typing import Any

from course_lib.comm.collective import Label

__all__ = ["Operation"]


class Operation:
    """One side of a message: a send of `rank` to `peer`, or a receive of `rank` from `peer` (None: from anyone).

    `payload` is a tensor or anything else with `dtype`, `shape` and `nbytes`. Once the other side is there, `source`
    is the sender and `step` the message's; `end_s` is known once it has started, `done` true once it has ended.
    `collective` is the label of the collective that it belongs to, or None.
    """

    __slots__ = (
        "collective",
        "done",
        "end_s",
        "order",
        "payload",
        "peer",
        "ports",
        "posted_s",
        "rank",
        "source",
        "step",
        "step_seen",
        "where",
    )

    end_s: float
    posted_s: float
    order: int
    ports: tuple[int, ...]
    source: int
    step: int
    step_seen: int

    def __init__(
        self, rank: int, peer: int | None, payload: Any, where: Any = "", collective: Label | None = None
    ) -> None:
        self.rank = rank
        self.peer: Any = peer  # a rank, or None in a receive from anyone
        self.payload = payload
        self.where = where
        self.collective = collective
        self.done = False

    def location(self) -> str:
        """The line that posted it, in words."""
        return str(self.where)
