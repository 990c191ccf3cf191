"""How long the cells of a notebook may take under grading, each and together: a slow trial is no part of an answer."""

from __future__ import annotations

import signal
import time
from types import FrameType

from .persistent import persistent

MIN_S = 0.02  # that a cell gets when the others have used up what all may take
FOR_REAL, MORE_S = 3, 1.0  # times as long, and so much more, may it take if it waits


class TooSlow(BaseException):
    """A cell has taken too long; no student's `except Exception` is meant by it."""


class CellClock:
    """Raises TooSlow where a cell takes too long: use it as a context manager around each of its statements.

    Args:
        cell_s: processor time of one cell.
        cells_s: and of all cells together.
    """

    def __init__(self, cell_s: float, cells_s: float) -> None:
        self.cell_s, self.left_s = cell_s, cells_s
        self._cell_left_s = cell_s
        self._began_s = 0.0
        self._runs = self._has_rung = False

    def next_cell(self) -> None:
        """The statements that follow are another cell's."""
        self._cell_left_s = self.cell_s

    def __enter__(self) -> None:
        limit_s = max(MIN_S, min(self._cell_left_s, self.left_s))
        self._began_s = time.process_time()
        self._runs, self._has_rung = True, False
        for number in (signal.SIGPROF, signal.SIGALRM):
            signal.signal(number, self._ring)
        signal.setitimer(signal.ITIMER_PROF, limit_s)
        signal.setitimer(signal.ITIMER_REAL, FOR_REAL * limit_s + MORE_S)

    def __exit__(self, *error: object) -> None:
        self._runs = False
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        used_s = time.process_time() - self._began_s
        self._cell_left_s -= used_s
        self.left_s -= used_s

    def _ring(self, number: int, frame: FrameType | None) -> None:
        if self._runs and (in_a_cell(frame) or not self._has_rung):
            self._has_rung = True
            raise persistent(TooSlow, number)


def in_a_cell(frame: FrameType | None) -> bool:
    """Whether a cell's code, or what it has called, is what runs here."""
    while frame is not None:
        if frame.f_code.co_filename.startswith("<code cell "):
            return True
        frame = frame.f_back
    return False
