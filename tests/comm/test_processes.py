"""One rank among processes: its log, and messages that outlive their handles."""

import gc
import sys

import cloudpickle
import torch

from course_lib import run
from course_lib.comm.source_location import locate
from course_lib.comm.transport.log import Log

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # as if these programs were written in a notebook


def test_ticks_count_the_posts_and_completions_of_a_rank_in_its_own_order():
    log, here = Log(), locate()
    first, second = log.post("send", 1, torch.zeros(2), 0.0, here), log.post("recv", None, torch.zeros(2), 0.5, here)
    log.done(second, 3, 1.0)
    log.done(first, 1, 2.0)
    assert [(row.posted_tick, row.done_tick) for row in log.operations] == [(0, 3), (1, 2)]
    assert (second.peer, second.done_s) == (3, 1.0)
    assert first.location[0] == __file__


def test_a_message_arrives_although_its_sender_dropped_handle_and_tensor():
    def program(comm):
        if comm.rank == 0:
            for value in range(5):
                comm.isend(torch.full((50_000,), float(value)), 1)
                gc.collect()
            return None
        comm.compute(0.1)
        seen, tensor = [], torch.empty(50_000)
        for _ in range(5):
            comm.recv(tensor, 0)
            seen.append((tensor[0].item(), tensor[-1].item()))
        return seen

    assert run(program, 2).results[1] == [(float(value), float(value)) for value in range(5)]


def test_a_message_that_is_received_after_its_sender_has_finished_arrives():
    def program(comm):
        if comm.rank == 0:
            comm.isend(torch.ones(3), 1)
            return None
        comm.compute(0.4)
        tensor = torch.zeros(3)
        comm.recv(tensor, 0)
        return tensor.tolist()

    assert run(program, 2).results[1] == [1.0] * 3


def test_measured_times_are_in_order_and_within_the_run():
    def program(comm):
        for _ in range(3):
            comm.barrier()
            comm.compute(0.001)

    report = run(program, 3)
    for message in report.trace.messages:
        assert 0 <= message.start_s == max(message.send_posted_s, message.recv_posted_s)
        assert message.start_s <= message.end_s <= report.seconds
    assert [m.start_s for m in report.trace.messages] == sorted(m.start_s for m in report.trace.messages)
    assert all(0 <= wait.start_s <= wait.end_s <= report.seconds for wait in report.trace.waits)
    assert all(waiting_s >= 0 for waiting_s in report.trace.waiting_s)
