"""Deadlock detection, by polling the boards: by the parent, or, under torchrun, by the ranks themselves."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, NamedTuple

import psutil
import torch.distributed as dist

from course_lib.comm.errors import (
    JOIN,
    CommError,
    DeadlockError,
    Pending,
    RankDiedError,
    deadlock_error,
    tell_collectives,
)
from course_lib.comm.processes.folder import RunFolder
from course_lib.comm.transport.board import ENDED, FAILED, Board


class DeadlockDetector:
    """Polls the boards of all ranks' programs and of the functions that they started.

    Nobody who is called stuck can go on: the other side of what each waits for is not posted, at two looks in a row.
    """

    def __init__(self, board: Board, started_board: Board) -> None:
        self._board, self._started_board = board, started_board
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
        started = self._started_board.stuck(rank)
        return None if program is None or started is None else (functions, program, started)

    def pending(self, rank: int, started: bool) -> Pending | None:
        """What a rank's program, or the function it started, is blocked in."""
        if not started:
            return self._board.pending(rank)
        return self._started_board.pending(rank) if self._board.under_way(rank) else None


_MAX_RANKS = 128  # whose board has 130 MB
_LOOK_S = 0.5
_GRACE_S = 3.0  # the first rank that lives reports; the others give it time to be heard


class _RankHost(NamedTuple):
    """The machine and the process id of a rank."""

    machine: str
    pid: int


def watch(rank: int, world_size: int, give_up: Callable[[CommError], None]) -> Watch | None:
    """Watch over this rank and its peers, which all call this; None where they are on several machines.

    Args:
        give_up: called in a thread of its own with what is wrong; it ends this process.
    """
    homes: list[Any] = [None] * world_size
    dist.all_gather_object(homes, _RankHost(machine(), os.getpid()))
    if world_size > _MAX_RANKS or len({home.machine for home in homes}) > 1:
        return None
    folder = RunFolder("course-run-") if rank == 0 else None
    if folder is not None:
        for name in ("board", "started"):
            folder.make_file(name, Board.file_bytes(world_size))
    where: list[Any] = [folder and folder.path]
    dist.broadcast_object_list(where, src=0)
    board = Board(where[0] / "board", world_size)
    board.started_board()
    dist.barrier()  # now all have it, and need the folder no more
    if folder is not None:
        folder.remove()
    return Watch(rank, board, [home.pid for home in homes], give_up)


def machine() -> str:
    """What tells one machine, or container, from another."""
    boot = Path("/proc/sys/kernel/random/boot_id")
    return f"{socket.gethostname()} {boot.read_text() if boot.exists() else ''}"


class Watch:
    """A thread that polls the board twice a second, until `end`."""

    def __init__(self, rank: int, board: Board, pids: list[int], give_up: Callable[[CommError], None]) -> None:
        self.board = board
        self._rank = rank
        self._pids = pids
        self._give_up = give_up
        self._detector, self._over = DeadlockDetector(board, board.started_board()), threading.Event()
        threading.Thread(target=self._look, name="watch", daemon=True).start()

    def end(self, how: str) -> None:
        """Say that this rank's program has `ENDED`, or `FAILED`; after a failure nobody looks for its reason."""
        self.board.end(self._rank, how)
        if how == FAILED:
            self._over.set()

    def close(self) -> None:
        """Look no more: all have ended."""
        self._over.set()

    def _look(self) -> None:
        while not self._over.wait(_LOOK_S):
            if self.board.ended(FAILED):
                return  # it has said why
            if error := self._dead() or self._detector.deadlock(self.board.ended(ENDED)):
                living = [rank for rank, pid in enumerate(self._pids) if _lives(pid)]
                if self._rank != living[0]:
                    time.sleep(_GRACE_S)
                self._give_up(tell_collectives(error, self.board.collectives()))

    def _dead(self) -> CommError | None:
        """The error if a rank's process has died without an answer."""
        ended = self.board.ended(ENDED)
        gone = [rank for rank, pid in enumerate(self._pids) if rank not in ended and not _lives(pid)]
        if not gone or self.board.ended(FAILED):
            return None
        last = self.board.last_wait(gone[0])
        return self.board.mismatch() or RankDiedError(
            f"rank {gone[0]} has left without an answer, as after os._exit, a kill or a crash"
            + (f"; it waited last in\n  {last}" if last else " and without a message")
        )


def _lives(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
