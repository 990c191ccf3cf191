"""The shared table in which both sides of a message are compared."""

import pytest

from course_lib.comm.source_location import locate
from course_lib.comm.transport.board import UNSURE, Board

HERE = locate()


@pytest.fixture
def board(tmp_path):
    (tmp_path / "board").write_bytes(bytes(Board.file_bytes(3)))
    made = Board(tmp_path / "board", 3)
    yield made
    made.close()


def test_what_one_process_writes_another_reads(board, tmp_path):
    board.post("send", 0, 2, 5, "float32 (4,)", HERE)
    other = Board(tmp_path / "board", 3)
    entry = other.entry("send", 0, 2, 5)
    assert (entry.number, entry.envelope) == (5, "float32 (4,)")
    assert "test_board.py" in entry.where
    assert other.entry("send", 0, 2, 4) is None
    assert other.entry("recv", 0, 2, 5) is None
    assert other.entry("send", 2, 0, 5) is None
    other.close()


def test_sixteen_messages_of_a_link_are_kept(board):
    for number in range(20):
        board.post("send", 0, 1, number, f"message {number}", HERE)
    kept = [number for number in range(20) if board.entry("send", 0, 1, number)]
    assert kept == list(range(4, 20))


def test_the_first_pair_that_disagrees_is_the_mismatch(board):
    for kind, rank, peer in (("send", 0, 1), ("recv", 1, 0)):
        board.post(kind, rank, peer, 0, "same", HERE)
    assert board.mismatch() is None
    board.post("send", 0, 1, 1, "int32 (2,)", HERE)
    assert board.mismatch() is None  # the other side is not there yet
    board.post("recv", 1, 0, 1, "int32 (3,)", HERE)
    assert "rank 0 sends int32 (2,) to 1" in str(board.mismatch())


def test_a_rank_is_stuck_only_while_the_other_side_is_not_posted(board):
    assert board.stuck(0) is None  # not blocked
    board.block(0, 1, "recv", 1, 0, HERE)
    assert board.stuck(0) is not None
    board.post("send", 2, 0, 0, "from another", HERE)
    assert board.stuck(0) is not None
    board.post("send", 1, 0, 0, "the awaited one", HERE)
    assert board.stuck(0) is None
    board.block(0, 2, "recv", 1, 1, HERE)  # the next one
    assert board.stuck(0) is not None
    board.go_on(0)
    assert board.stuck(0) is None


def test_a_send_to_a_rank_that_receives_from_anyone_is_not_stuck_before_another_message_was_taken(board):
    board.block(0, 1, "send", 1, 0, HERE)
    assert board.stuck(0) is not None
    board.post("recv", 1, 1, 0, "from anyone", HERE)
    assert board.stuck(0) is None
    board.took_from_anyone(1, 2)
    assert board.stuck(0) is not None


def test_a_receive_from_anyone_is_stuck_while_every_message_is_one_that_a_receive_from_its_sender_takes(board):
    board.post("recv", 0, 1, 0, "from 1", HERE)
    board.post("recv", 0, 0, 0, "from anyone", HERE)
    board.block(0, 1, "recv", None, 0, HERE)
    assert board.stuck(0) is not None
    board.post("send", 1, 0, 0, "for the first", HERE)
    assert board.stuck(0) is not None
    board.post("send", 2, 0, 0, "for the second", HERE)
    assert board.stuck(0) is None
    board.took_from_anyone(0, 2)
    board.block(0, 2, "recv", None, 1, HERE)
    assert board.stuck(0) is not None


def test_who_cannot_say_whether_a_message_comes_is_not_stuck(board):
    board.block(0, 1, "recv", 1, UNSURE, HERE)
    assert board.stuck(0) is None
    assert str(board.pending(0)).startswith("waits in recv from 1, ")


def test_channels_are_counted_and_compared_apart(board):
    board.block(0, 1, "barrier recv", 1, 0, HERE, channel=1)
    board.post("send", 1, 0, 0, "no barrier", HERE)
    assert board.stuck(0) is not None
    board.post("send", 1, 0, 0, "barrier", HERE, channel=1)
    assert board.stuck(0) is None
    board.post("send", 1, 0, 3, "a group's", HERE, channel=12345)
    assert board.entry("send", 1, 0, 3, channel=12345).envelope == "a group's"
    assert board.entry("send", 1, 0, 3) is None
    board.post("recv", 0, 1, 3, "of the program", HERE)
    assert board.mismatch() is None
    board.post("recv", 0, 1, 3, "not the group's", HERE, channel=12345)
    assert "rank 1 sends a group's to 0" in str(board.mismatch())


def test_what_a_rank_is_blocked_in_is_read_with_its_line(board):
    board.block(1, 1, "wait for irecv", None, 0, HERE)
    assert str(board.pending(1)).startswith("waits in wait for irecv from anyone, ")
    assert board.pending(0) is None


def test_the_common_start_is_known_when_the_last_rank_is_ready(board):
    board.set_ready(0, 5.0)
    board.set_ready(2, 9.0)
    assert board.start_s() == 0.0
    board.set_ready(1, 7.0)
    assert board.start_s() == 9.0
    board.block(1, 3, "recv", 0, 0, HERE)
    board.go_on(1)
    assert board.start_s() == 9.0


def test_long_file_names_and_envelopes_are_cut_and_do_no_harm(board):
    namespace = {"locate": locate}
    exec(compile("here = locate()", "/é" + 300 * "x" + "/file.py", "exec"), namespace)
    board.post("send", 0, 1, 0, 100 * "y", namespace["here"])
    entry = board.entry("send", 0, 1, 0)
    assert entry.envelope == 64 * "y"
    assert entry.where.endswith("/file.py, line 1")
