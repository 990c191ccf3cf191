"""From each rank's log to one trace."""

import pickle

import pytest
import torch

from course_lib import MismatchError
from course_lib.comm.source_location import locate
from course_lib.comm.transport.log import Log, merge

HERE = locate()


def sized(size: int) -> torch.Tensor:
    """A tensor of this many bytes."""
    return torch.zeros(size, dtype=torch.uint8)


def logs(*ranks: list[tuple]) -> list[Log]:
    """Logs of ranks, each a list of (kind, peer, bytes, posted, done or None, place of its completion in the list).

    Operations are completed right after they are posted, unless `done` is None (never waited for).
    """
    made = []
    for operations in ranks:
        log = Log()
        for kind, peer, message_bytes, posted_s, done_s in operations:
            row = log.post(kind, peer, sized(message_bytes), posted_s, HERE)
            if done_s is not None:
                log.done(row, peer, done_s)
        made.append(log)
    return made


def test_the_nth_send_of_a_link_belongs_to_its_nth_receive():
    trace, left = merge(
        logs(
            [("send", 1, 10, 0.0, 3.0), ("send", 1, 20, 3.0, 6.0)],
            [("recv", 0, 10, 1.0, 2.5), ("recv", 0, 20, 5.0, 5.5)],
        ),
        seconds=6.0,
    )
    assert left == []
    assert [(m.message_bytes, m.start_s, m.end_s, m.step) for m in trace.messages] == [
        (10, 1.0, 2.5, 1),
        (20, 5, 5.5, 2),
    ]
    assert trace.seconds == 6.0


def test_a_message_that_only_its_sender_waited_for_ends_when_the_sender_saw_it():
    trace, _ = merge(logs([("send", 1, 8, 0.0, 4.0)], [("recv", 0, 8, 1.0, None)]), 4.0)
    assert [(m.start_s, m.end_s) for m in trace.messages] == [(1.0, 4.0)]


def test_operations_whose_other_side_was_never_posted_are_left_over_with_their_lines():
    trace, left = merge(logs([("send", 1, 8, 0.0, None), ("recv", 1, 8, 0.0, None)], [("recv", 0, 8, 0.0, 1.0)]), 1.0)
    assert len(trace.messages) == 1
    assert [(one.verb, one.rank, one.peer) for one in left] == [("irecv", 0, 1)]
    assert "test_merge.py" in left[0].where


def test_an_operation_that_met_a_message_of_another_library_says_so():
    _, left = merge(logs([("send", 1, 8, 0.0, None)], [("recv", 0, 8, 0.0, 1.0), ("recv", 0, 8, 1.0, 2.0)]), 2.0)
    assert [one.verb for one in left] == ["irecv"]
    assert "it met a message of torch.distributed's own functions" in left[0].where


def test_sides_that_disagree_are_refused_also_where_nobody_waited():
    for done_s in (None, 1.0):
        with pytest.raises(MismatchError) as error:
            merge(logs([("send", 1, 8, 0.0, done_s)], [("recv", 0, 12, 0.0, done_s)]), 1.0)
        assert "rank 0 sends torch.uint8 of shape (8,) to 1, " in str(error.value)
        assert "rank 1 receives torch.uint8 of shape (12,) from 0, " in str(error.value)


def test_receives_from_anyone_that_nobody_waited_for_take_what_is_left():
    one, other = ("send", 0, 8, 1.0, None), ("send", 0, 8, 0.5, None)
    trace, left = merge(logs([("recv", None, 8, 2.0, None)], [one], [other]), 2.0)
    assert [(m.src, m.dst) for m in trace.messages] == [(2, 0)]  # the earliest
    assert [(o.verb, o.rank) for o in left] == [("isend", 1)]


def test_barriers_messages_are_paired_apart():
    sender, receiver = Log(), Log()
    for log, kind, order in ((sender, "send", [True, False]), (receiver, "recv", [False, True])):
        for apart in order:
            size = 0 if apart else 8
            log.done(
                log.post(kind, 1 - (kind == "recv"), sized(size), 0.0, HERE, ("barrier",) * apart),
                1 - (kind == "recv"),
                1.0,
            )
    trace, left = merge([sender, receiver], 1.0)
    assert (len(trace.messages), left) == (2, [])
    _, left = merge([sender, Log()], 1.0)
    assert len(left) == 2


def test_no_logs_at_all_give_an_empty_trace():
    trace, left = merge(logs([], []), 0.0)
    assert (trace.messages, trace.spans, trace.waits, left, trace.world_size) == ([], [], [], [], 2)


def test_steps_follow_the_order_of_each_rank_and_not_the_clocks():
    # 0 -> 1 -> 2: rank 2's clock runs far behind, its message is step 2 all the same.
    trace, _ = merge(
        logs(
            [("send", 1, 4, 100.0, 101.0)],
            [("recv", 0, 4, 100.0, 101.0), ("send", 2, 4, 101.0, 102.0)],
            [("recv", 1, 4, 0.0, 0.5)],
        ),
        102.0,
    )
    assert {(m.src, m.dst): m.step for m in trace.messages} == {(0, 1): 1, (1, 2): 2}


def test_ranks_are_gone_through_in_the_order_of_their_messages_and_not_of_their_numbers():
    # 2 -> 1 -> 0: what rank 0 received depends on what rank 1 had received before.
    trace, _ = merge(
        logs(
            [("recv", 1, 4, 0.0, 3.0), ("send", 2, 4, 3.0, 4.0)],
            [("recv", 2, 4, 0.0, 1.0), ("send", 0, 4, 1.0, 3.0)],
            [("send", 1, 4, 0.0, 1.0), ("recv", 0, 4, 1.0, 4.0)],
        ),
        4.0,
    )
    assert {(m.src, m.dst): m.step for m in trace.messages} == {(2, 1): 1, (1, 0): 2, (0, 2): 3}


def test_posting_before_waiting_keeps_messages_in_one_step():
    log = Log()
    rows = [log.post(kind, 1, sized(4), 0.0, HERE) for kind in ("send", "recv", "send")]
    for row in rows:
        log.done(row, 1, 1.0)
    (peer,) = logs([])
    for kind in ("send", "recv", "recv"):
        peer.post(kind, 0, sized(4), 0.0, HERE)
    assert {m.step for m in merge([log, peer], 1.0)[0].messages} == {1}


def test_a_log_travels_without_a_warning_and_goes_on_counting():
    log = pickle.loads(pickle.dumps(logs([("send", 1, 10, 0.0, 3.0)])[0]))  # warnings are errors here
    assert log.post("send", 1, sized(10), 4.0, HERE).posted_tick == 2
