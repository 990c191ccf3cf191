"""Ranks that wait for each other, found on the boards on which they say what they are blocked in."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from course_lib.comm.errors import JOIN, DeadlockError, Pending, deadlock_error
from course_lib.comm.processes.board import Board

__all__ = ["Lookout"]


class Lookout:
    """Looks at the boards of all ranks' programs and of the functions that they started.

    Nobody who is called stuck can go on: the other side of what each waits for is not posted, at two looks in a row.
    """

    def __init__(self, board: Board, board_of_started: Board) -> None:
        self._board, self._board_of_started = board, board_of_started
        self._looked: list[Any] | None = None

    def deadlock(self, finished: Collection[int]) -> DeadlockError | None:
        """The error if no rank can go on, and could not at the look before either."""
        unfinished = [rank for rank in range(self._board.world_size) if rank not in finished]
        states = [self._stuck(rank) for rank in unfinished]
        before, self._looked = self._looked, states
        if not unfinished or None in states or states != before:
            return None
        programs, functions = (
            {rank: what for rank in unfinished if (what := self.pending(rank, started))} for started in (False, True)
        )
        return deadlock_error(programs, sorted(finished), functions)

    def _stuck(self, rank: int) -> tuple[Any, ...] | None:
        """The blocked state of a rank's program and of its started functions; None if either may go on."""
        functions, program = self._board.under_way(rank), self._board.stuck(rank)
        if not functions:
            return None if program and program[1] == JOIN else program
        started = self._board_of_started.stuck(rank)
        return None if program is None or started is None else (functions, program, started)

    def pending(self, rank: int, started: bool) -> Pending | None:
        """What a rank's program, or the function it started, is blocked in."""
        if not started:
            return self._board.pending(rank)
        return self._board_of_started.pending(rank) if self._board.under_way(rank) else None
