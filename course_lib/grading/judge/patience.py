"""How long a judge listens to ranks that neither speak nor work.

Real time would be luck: a machine that is busy, or asleep, would cost an honest answer its points. So a stretch of time
counts only if the ranks used next to no processor time in it, where the system says how much that was; processor time
has a limit of its own. And it never counts as longer than the judge meant to listen, for the judge itself may have been
paused.
"""

from __future__ import annotations

import selectors
import time
from collections.abc import Callable

SLICE_S = 0.5  # that the judge listens before it looks whether the ranks work
WORKING_SHARE = 0.01  # of a slice on a processor; a rank that gets less shares its core with a hundred others
CEILING = 6  # times the limit: the most real time of a trial, whatever the ranks do


class Patience:
    """Listens for up to `limit_s` in which nothing happens.

    Args:
        used_s: processor time that the ranks have used so far, all together; None where the system does not say.
    """

    def __init__(self, limit_s: float, used_s: Callable[[], float | None]) -> None:
        self.limit_s, self._used_s = limit_s, used_s
        self.idle_s = self.listened_s = self._last_s = 0.0

    @property
    def counted_s(self) -> float:
        """How much of its time counts: all that was idle, and of the rest as much as a trial may take of it."""
        return max(self.idle_s, self.listened_s / CEILING)

    @property
    def exhausted(self) -> bool:
        """Whether it has listened for long enough."""
        return self.idle_s >= self.limit_s or self.listened_s >= CEILING * self.limit_s

    def select(self, selector: selectors.BaseSelector) -> list[tuple[selectors.SelectorKey, int]]:
        """What is ready; empty after a slice in which nothing was."""
        began = time.monotonic()
        events = selector.select(SLICE_S)
        passed_s = min(time.monotonic() - began, SLICE_S)
        self.listened_s += passed_s
        if not events and not self._worked():
            self.idle_s += passed_s
        return events

    def _worked(self) -> bool:
        used_s = self._used_s()
        if used_s is None:
            return False
        more_s, self._last_s = used_s - self._last_s, used_s
        return more_s >= WORKING_SHARE * SLICE_S
