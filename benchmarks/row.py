"""One line of the benchmark table."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Row", "row_of"]


@dataclass(frozen=True)
class Row:
    """One comparison: `value` in `unit`; a ratio is ours over the peer's unless `what` says otherwise.

    Attributes:
        spread: (least, largest) of the single launches or rounds.
        goal: the bound that `value` is held against, as "at most 1" or "at least 20"; "" where it is only reported.
    """

    section: str
    what: str
    value: float
    unit: str
    spread: tuple[float, float]
    goal: str = ""

    @property
    def met(self) -> bool | None:
        """Whether the goal is met; None without a goal."""
        if not self.goal:
            return None
        bound = float(self.goal.split()[-1])
        return self.value <= bound if self.goal.startswith("at most") else self.value >= bound


def row_of(section: str, what: str, values: Sequence[float], unit: str, goal: str = "") -> Row:
    """The median of what the single launches or rounds gave."""
    return Row(section, what, statistics.median(values), unit, (min(values), max(values)), goal)
