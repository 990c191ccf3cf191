"""The replay: whose numbers are in which chunk, read off what a program really does."""

import numpy as np
import pytest
import torch

from course_lib import DeadlockError
from course_lib.collectives import ALL_REDUCES, ring_all_reduce
from course_lib.draw import replay


def pass_on(comm, tensor):
    """Everyone gives its tensor to the right, once."""
    sent = comm.isend(tensor.clone(), (comm.rank + 1) % comm.world_size)
    comm.recv(tensor)
    sent.wait()


def twice(comm, tensor):
    """Rank 0's number arrives at rank 1 twice."""
    if comm.rank == 0:
        comm.send(tensor, 1)
        comm.send(tensor, 1)
    else:
        incoming = torch.empty_like(tensor)
        for _ in range(2):
            comm.recv(incoming, 0)
            tensor += incoming


def test_at_the_start_every_rank_holds_its_own_number_only():
    start = replay(ring_all_reduce, 3).at(0)
    assert (start.counts == np.eye(3, dtype=int)[:, None, :]).all()


def test_a_ring_of_three_fills_up_as_in_the_picture():
    # The chunk that a rank has just added to holds one more rank's number at every step of the first circle.
    story = replay(ring_all_reduce, 3)
    inside = [np.sort(story.at(step).counts.sum(axis=-1)).tolist() for step in range(5)]
    assert story.steps == 4
    assert inside == [
        [[1, 1, 1]] * 3,
        [[1, 1, 2]] * 3,  # the first circle adds
        [[1, 2, 3]] * 3,
        [[2, 3, 3]] * 3,  # the second circle replaces
        [[3, 3, 3]] * 3,
    ]
    assert [int(story.changed(step).sum()) for step in range(5)] == [0, 3, 3, 3, 3]


def test_a_message_shows_whose_number_arrived():
    story = replay(pass_on, 4)
    assert story.at(-1).counts[:, 0].argmax(axis=-1).tolist() == [3, 0, 1, 2]
    assert not story.complete


@pytest.mark.parametrize("world_size", [1, 2, 3, 5, 8, 12])
@pytest.mark.parametrize("name", list(ALL_REDUCES))
def test_every_all_reduce_of_the_library_ends_complete(name, world_size):
    story = replay(ALL_REDUCES[name], world_size, ranks="greenlets")
    assert story.complete
    assert not story.at(-1).doubled.any()


@pytest.mark.parametrize("elements", [0, 1, 7, 24])
def test_the_tensor_may_have_any_number_of_elements(elements):
    story = replay(ring_all_reduce, 4, elements=elements)
    assert story.elements == elements
    assert story.complete


def test_a_number_counted_twice_is_seen():
    story = replay(twice, 2)
    assert story.at(-1).counts[1, 0].tolist() == [2, 1]
    assert story.at(-1).doubled[1].all()
    assert not story.complete


def test_a_value_that_is_no_sum_is_marked_unreadable():
    def halve(comm, tensor):
        tensor /= 3

    state = replay(halve, 2).at(-1)
    assert not state.readable.any()
    assert not state.full.any()


def test_a_program_may_return_its_result_instead_of_writing_in_place():
    def out_of_place(comm, tensor):
        result = tensor.clone()
        ring_all_reduce(comm, result)
        return result

    assert replay(out_of_place, 3).complete


def test_moves_name_the_stretch_of_the_tensor_that_travelled():
    moves = [move for move in replay(ring_all_reduce, 4).moves if move.src == 0]
    assert [move.step for move in moves] == [1, 2, 3, 4, 5, 6]
    assert {(move.dst, move.elements) for move in moves} == {(1, 1)}


def test_ranks_that_floats_cannot_tell_apart_are_refused():
    with pytest.raises(ValueError, match="up to 53 ranks apart, got 54"):
        replay(ring_all_reduce, 54)


def test_a_deadlock_is_reported_as_the_simulator_reports_it():
    def wait_forever(comm, tensor):
        comm.recv(tensor, (comm.rank + 1) % comm.world_size)

    with pytest.raises(DeadlockError, match="the circle"):
        replay(wait_forever, 3)
