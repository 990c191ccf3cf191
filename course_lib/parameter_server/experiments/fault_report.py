"""What a trial with faults leaves behind: the account of every update, and what happened when."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import NamedTuple

import torch

__all__ = ["Audit", "Event", "FaultReport"]


class Event(NamedTuple):
    """Something that happened: at `at_s` of the real clock, to `who` ("worker 2", "server 0").

    `what` is one of: "back": it is there, for the first time or again (`number`: the updates that a server has);
    "portion" and "done": a worker was given, and has done, this one; "kill" and "death": by us, and by itself;
    "hand over": the portion that was taken from a dead worker; "torn record": a server that came back found the last
    record of its log cut off, so many bytes of it there.
    """

    at_s: float
    who: str
    what: str
    number: int = -1


class Audit(NamedTuple):
    """A server's books at the moment of its death: what lies on the disk against what was acknowledged until then.

    `missing` must be 0: acknowledged and not present. `extra` are present and not acknowledged yet: under way.
    """

    at_s: float
    server: int
    acknowledged: int
    present: int
    missing: int
    extra: int


@dataclass(frozen=True)
class FaultReport:
    """An update is one portion's gradient, applied on one server. All counts are measured on real processes.

    Attributes:
        done: portions in the order in which they were reported done: acknowledged by every server.
        applied: by server, how often each portion is present, read from the disk after all had been killed.
        parameters: read from the disk as well.
        expected: the sum of exactly what was applied; None unless gradients are whole numbers.
        workers_killed, servers_killed: by us; `deaths` are those that nobody planned.
        handed_over: portions taken from dead workers and given to others.
        repeated: pushes that came again and were recognized, counted by the last server processes.
        audits: one for each server that was killed.
        events: in order of time.
    """

    done: list[int]
    applied: list[Counter[int]]
    parameters: torch.Tensor
    expected: torch.Tensor | None
    workers_killed: int
    servers_killed: int
    deaths: int
    handed_over: int
    repeated: int
    audits: list[Audit]
    events: list[Event]
    seconds: float
    origin: str = "measured"

    @property
    def kills(self) -> int:
        """Workers and servers that we killed."""
        return self.workers_killed + self.servers_killed

    @property
    def acknowledged(self) -> int:
        """Updates that their worker was told to be in."""
        return len(self.done) * len(self.applied)

    @property
    def present(self) -> int:
        """Updates that are in the parameters at the end, each counted once."""
        return sum(len(applied) for applied in self.applied)

    @property
    def lost(self) -> int:
        """Updates that were acknowledged and are not present."""
        return sum(len(set(self.done) - applied.keys()) for applied in self.applied)

    @property
    def duplicated(self) -> int:
        """Updates that were applied a second time, or more often."""
        return sum(applied.total() - len(applied) for applied in self.applied)

    @property
    def exact(self) -> bool:
        """True if the parameters are the sum of exactly what was applied."""
        return self.expected is not None and torch.equal(self.parameters, self.expected)
