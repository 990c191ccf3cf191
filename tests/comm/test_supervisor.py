"""The parent blames the rank that is to blame, and waits for it no longer than it must."""

import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from course_lib import RankError
from course_lib.comm.transport import runner
from course_lib.comm.transport.board import Board
from course_lib.comm.transport.child import Failed


def failed(rank: int, text: str) -> tuple[int, bytes]:
    return rank, pickle.dumps(Failed("RuntimeError", text, "here", "", None))


ECHO, CAUSE = failed(1, "[pair.cc:553] Connection closed by peer [127.0.0.1]:64678"), failed(0, "out of range")


@pytest.fixture
def blamed(tmp_path: Path) -> Iterator[Callable[..., int]]:
    """The rank that is blamed once these messages were heard, one at each look, and then nothing for three looks."""
    for name in ("board", "started"):
        (tmp_path / name).write_bytes(bytes(Board.file_bytes(2)))
    board = Board(tmp_path / "board", 2)

    def blame(*heard: tuple[int, bytes]) -> int:
        looks = iter([*([each] for each in heard), [], [], []])
        ranks = SimpleNamespace(world_size=2, board=board, started_board=board, listen=lambda patience_s: next(looks))
        with pytest.raises(RankError) as raised:
            runner.Supervisor(ranks, None, 1000.0, SimpleNamespace(deliver=lambda: None)).answers()
        return raised.value.rank

    yield blame
    board.close()


def test_who_only_saw_a_peer_vanish_is_not_blamed_if_the_cause_comes(blamed, monkeypatch) -> None:
    monkeypatch.setattr(runner, "_GRACE_S", 1000.0)
    assert blamed(ECHO, CAUSE) == blamed(CAUSE, ECHO) == 0


def test_a_cause_that_does_not_come_is_not_waited_for_until_the_time_out(blamed, monkeypatch) -> None:
    monkeypatch.setattr(runner, "_GRACE_S", 0.0)
    assert blamed(ECHO) == 1
