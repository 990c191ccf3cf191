"""Ready-made rules: what they count, what they leave out, what they say."""

from itertools import count

import pytest
import torch

from course_lib import simulate
from course_lib.comm.trace import Message, Trace
from course_lib.grading import rules
from course_lib.grading.exercise import Case


def _trace(world_size, *links):
    """Messages of these (src, dst, bytes), each a step of its own."""
    steps = count(1)
    return Trace(world_size, [Message(src, dst, size, 0.0, 0.0, next(steps)) for src, dst, size in links])


def _case(world_size):
    return Case(world_size, [(torch.ones(4),)] * world_size, [torch.ones(4)] * world_size)


def test_messages_are_counted_by_all_ranks_together():
    rule = rules.max_messages(lambda case: 2, "one each")
    assert rule.check(_case(2), _trace(2, (0, 1, 4), (1, 0, 4))) is None
    text = rule.check(_case(2), _trace(2, (0, 1, 4), (1, 0, 4), (1, 0, 4)))
    assert text == "all ranks together sent 3 messages, 2 are enough: one each"


@pytest.mark.parametrize("world_size", [2, 3, 8])
def test_empty_messages_are_no_messages_until_they_are_more_than_barriers_need(world_size):
    rule = rules.max_messages(lambda case: 0)
    rounds = (world_size - 1).bit_length()
    enough = [(1, 0, 0)] * 4 * rounds
    assert rule.check(_case(world_size), _trace(world_size, *enough)) is None
    text = rule.check(_case(world_size), _trace(world_size, *enough, (1, 0, 0)))
    most = f"no answer needs more than {4 * rounds}, as in 4 barriers"
    assert text == f"rank 1 sent {4 * rounds + 1} messages without elements; {most}"


def _with_barriers(comm, barriers):
    right, left = (comm.rank + 1) % comm.world_size, (comm.rank - 1) % comm.world_size
    for _ in range(3):
        sent = comm.isend(torch.ones(4), right)
        comm.recv(torch.empty(4), left)
        sent.wait()
        for _ in range(barriers):
            comm.barrier()


@pytest.mark.parametrize("world_size", [2, 3, 5, 8])
def test_a_barrier_after_each_message_is_style_and_many_more_are_not(world_size):
    rule = rules.max_messages(lambda case: 3 * world_size)
    for barriers, refused in [(1, False), (2, False), (3, False), (4, True)]:  # of 3 messages sent and 3 received
        trace = simulate(_with_barriers, world_size, (barriers,)).trace
        text = rule.check(_case(world_size), trace)
        assert (text is not None) == refused, text
    assert "as in 10 barriers" in text


def test_empty_messages_that_are_no_barrier_of_all_get_no_more_for_it():
    data, empty = [(0, 1, 4), (1, 0, 4)] * 5, [(0, 1, 0)] * 5
    rule = rules.max_messages(lambda case: 10)
    assert "as in 4 barriers" in rule.check(_case(2), _trace(2, *data, *empty))
    assert rule.check(_case(2), _trace(2, *data, *empty, *[(1, 0, 0)] * 5)) is None


def _swap(comm, barriers_before, barriers_after):
    for _ in range(barriers_before):
        comm.barrier()
    sent = comm.isend(torch.ones(4), 1 - comm.rank) if comm.rank < 2 else None
    if sent is not None:
        comm.recv(torch.empty(4), 1 - comm.rank)
        sent.wait()
    for _ in range(barriers_after):
        comm.barrier()


@pytest.mark.parametrize("world_size", [2, 3, 5])
@pytest.mark.parametrize("barriers", [(0, 0), (1, 0), (0, 1), (2, 1)])
def test_a_barrier_costs_neither_steps_nor_neighbors(world_size, barriers):
    trace = simulate(_swap, world_size, barriers).trace
    assert rules.max_steps(lambda case: 1).check(_case(world_size), trace) is None
    assert rules.max_steps(lambda case: 0).check(_case(world_size), trace)
    only_each_other = rules.neighbors(lambda rank, size: {1 - rank}, "the other of the first two")
    assert only_each_other.check(_case(world_size), trace) is None


def test_steps_of_messages_that_carry_something_all_count():
    trace = _trace(2, (0, 1, 4), (1, 0, 4), (0, 1, 4))
    text = rules.max_steps(lambda case: 2, "two swaps").check(_case(2), trace)
    assert text == "it took 3 steps one after the other, 2 are enough: two swaps"
