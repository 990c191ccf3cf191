"""What both ways to give a simulated rank a stack of its own have in common: greenlets and threads.

A function that a rank starts beside its program gets a stack too, with a number after those of the ranks.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FrameType
from typing import Protocol

__all__ = ["RankStopped", "Switching", "nobody"]


class RankStopped(BaseException):
    """Unwinds a rank whose simulation is over. Not an Exception, so that a program's own handlers let it pass.

    Who ends with it calls `take_back` first: where it came from another thread it would come again.
    """

    take_back: Callable[[], object] = staticmethod(bool)


class Switching(Protocol):
    """Ranks that take turns.

    Args:
        body: runs one rank to its end; called with the rank.
        choose: the rank whose turn it is, or None if no rank can go on.
    """

    word: str

    def __init__(self, world_size: int, body: Callable[[int], None], choose: Callable[[], int | None]) -> None: ...

    def add(self) -> int:
        """One more stack; returns its number."""

    def run(self) -> None:
        """Let ranks run until none can."""

    def switch_from(self, me: int) -> None:
        """Let others run; returns when it is rank `me`'s turn again.

        Raises:
            RuntimeError: if it is another stack that asks, or one that may not wait here.
        """

    def refuse_ended(self) -> None:
        """Raise RuntimeError if a rank that ends here would leave others what only it may have."""

    def stop(self) -> None:
        """Unwind every rank that has not finished."""

    def frame_of(self, rank: int) -> FrameType | None:
        """Where a blocked rank stands."""


def nobody() -> int | None:
    """Stands in for the choice once the simulation is over: who communicates while unwinding is stopped again."""
    raise RankStopped
