"""Ranks that have no parent watch each other."""

import os
import queue
import subprocess
import sys
from pathlib import Path

import pytest

from course_lib import DeadlockError, RankDiedError
from course_lib.comm.source_location import locate
from course_lib.comm.transport import deadlock as module
from course_lib.comm.transport.board import ENDED, FAILED, Board
from course_lib.comm.transport.deadlock import Watch


@pytest.fixture
def board(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Board:
    monkeypatch.setattr(module, "_LOOK_S", 0.01)
    monkeypatch.setattr(module, "_GRACE_S", 0.0)
    for name in ("board", "started"):
        (tmp_path / name).write_bytes(bytes(Board.file_bytes(3)))
    return Board(tmp_path / "board", 3)


@pytest.fixture
def gone() -> int:
    """The number of a process that has ended."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def error_on(board: Board, pids: list[int], rank: int = 0):
    """What the watch of a rank says first."""
    said: queue.SimpleQueue = queue.SimpleQueue()
    watch = Watch(rank, board, pids, said.put)
    try:
        return said.get(timeout=60)
    finally:
        watch.close()


@pytest.mark.parametrize("rank", [0, 2])
def test_a_rank_that_has_gone_without_a_word_is_named_with_its_last_line(board, gone, rank):
    board.block(1, 1, "recv", 0, 0, locate())  # its last line
    board.go_on(1)
    error = error_on(board, [os.getpid(), gone, os.getpid()], rank)
    assert isinstance(error, RankDiedError)
    assert str(error).startswith(
        "rank 1 has left without an answer, as after os._exit, a kill or a crash; it waited last"
    )
    assert str(error).endswith("# its last line")


def test_a_rank_that_never_waited_has_no_line(board, gone):
    assert str(error_on(board, [gone, os.getpid(), os.getpid()], 1)).endswith("a crash and without a message")


def test_who_has_ended_is_not_missed_and_after_a_failure_nobody_is_blamed(board, gone):
    watch = Watch(0, board, [os.getpid(), gone, gone], lambda error: None)
    watch.close()
    board.end(1, ENDED)
    assert "rank 2 has left" in str(watch._dead())
    board.end(2, FAILED)
    assert watch._dead() is None


def test_a_circle_is_named_with_those_who_have_ended(board):
    board.end(2, ENDED)
    for rank in (0, 1):
        board.block(rank, 1, "recv", 1 - rank, 0, locate())
    error = error_on(board, [os.getpid()] * 3)
    assert isinstance(error, DeadlockError)
    assert (sorted(error.pending), error.finished) == ([0, 1], (2,))


def test_a_board_begins_without_words(board):
    assert (board.ended(ENDED), board.ended(FAILED), board.last_wait(0)) == ([], [], "")
