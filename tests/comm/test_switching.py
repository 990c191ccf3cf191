"""Greenlets and threads that take turns."""

import threading

import pytest

from course_lib.comm.simulator.stacks import GreenletRanks, RankStopped, ThreadRanks

KINDS = pytest.mark.parametrize("kind", [GreenletRanks, ThreadRanks])


class Turns:
    """Ranks that take turns in a given order and note what they do."""

    def __init__(self, kind, order: list[int], world_size: int, turns: int) -> None:
        self.said, self.order, self.turns = [], iter(order), turns
        self.ranks = kind(world_size, self.body, lambda: next(self.order, None))

    def body(self, rank: int) -> None:
        try:
            for turn in range(self.turns):
                self.said.append((rank, turn))
                self.ranks.switch_from(rank)
            self.said.append((rank, "end"))
        except RankStopped:
            self.said.append((rank, "stopped"))


@KINDS
def test_ranks_go_on_in_the_order_that_was_chosen_each_where_it_stopped(kind):
    turns = Turns(kind, [0, 1, 0, 2, 1, 0, 2, 1, 2], world_size=3, turns=2)
    turns.ranks.run()
    assert turns.said == [(0, 0), (1, 0), (0, 1), (2, 0), (1, 1), (0, "end"), (2, 1), (1, "end"), (2, "end")]


@KINDS
def test_a_rank_that_is_chosen_again_goes_on_at_once(kind):
    turns = Turns(kind, [1, 1, 1], world_size=2, turns=2)
    turns.ranks.run()
    assert turns.said == [(1, 0), (1, 1), (1, "end")]


@KINDS
def test_stopping_unwinds_the_ranks_that_have_begun(kind):
    turns = Turns(kind, [0, 1], world_size=3, turns=5)
    turns.ranks.run()
    turns.ranks.stop()
    assert turns.said == [(0, 0), (1, 0), (0, "stopped"), (1, "stopped")]
    assert [thread for thread in threading.enumerate() if thread.name.startswith("rank ")] == []


@KINDS
def test_a_rank_that_switches_while_it_unwinds_is_stopped_again(kind):
    said = []

    def body(rank):
        try:
            ranks.switch_from(rank)
        finally:
            try:
                ranks.switch_from(rank)
            except RankStopped:
                said.append(rank)
                raise

    order = iter([0, 1])
    ranks = kind(2, lambda rank: _quiet(body, rank), lambda: next(order, None))
    ranks.run()
    ranks.stop()
    assert said == [0, 1]


def _quiet(body, rank) -> None:
    try:
        body(rank)
    except RankStopped:
        pass


@KINDS
def test_the_frame_of_a_blocked_rank_shows_where_it_stands(kind):
    turns = Turns(kind, [0], world_size=1, turns=1)
    turns.ranks.run()
    names, frame = [], turns.ranks.frame_of(0)
    while frame is not None:
        names.append(frame.f_code.co_name)
        frame = frame.f_back
    assert "body" in names
    turns.ranks.stop()
