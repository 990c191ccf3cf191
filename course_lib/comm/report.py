"""What every execution returns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from course_lib.comm.collective import Progress, progress_of
from course_lib.comm.trace import Trace

__all__ = ["Report"]


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
            beside `seconds`, everything that communication really costs fitted inside the emulated delays.
    """

    results: list[Any]
    seconds: float
    trace: Trace = field(repr=False)
    origin: str
    backend: str
    lag_s: float = 0.0

    @property
    def collectives(self) -> list[Progress]:
        """How many collectives each rank has begun and ended, by rank; `trace.collectives` has each of them."""
        return progress_of(self.trace.collectives, self.trace.world_size)
