"""Plans as data: what lives when, what they cost, and what cannot be carried out."""

import pytest

from course_lib.checkpointing import Node, PlanError, check_plan, plan_cost, plan_moved, plan_peak, play_plan, read_plan

CHAIN = {0: Node(), 1: Node((0,), needs=(0,)), 2: Node((1,), needs=(1,)), 3: Node((2,), needs=(2,))}


ALL = read_plan("store 1, store 2, free 1, store 3, free 2, free 3, back 3, back 2, back 1")
AGAIN = read_plan(
    "run 1, run 2, free 1, store 3, free 2, free 3, back 3, run 1, store 2, free 1, free 2, back 2, "
    "store 1, free 1, back 1"
)


def test_the_bytes_of_a_small_plan_are_those_counted_by_hand():
    assert [moment.now_bytes for moment in play_plan(ALL, CHAIN)] == [2, 3, 3, 4, 4, 3, 3, 2, 1]
    assert plan_peak(ALL, CHAIN) == 4
    assert plan_cost(ALL, CHAIN) == 3


def test_what_is_computed_before_is_computed_again_and_costs_again():
    again = [str(moment.action) for moment in play_plan(AGAIN, CHAIN) if moment.again]
    assert again == ["run 1", "store 2", "store 1"]
    assert plan_peak(AGAIN, CHAIN) == 3
    assert plan_cost(AGAIN, CHAIN) == 6


def test_a_value_lives_for_as_long_as_something_stored_needs_it():
    chain = {0: Node(output_bytes=8), 1: Node((0,), (1,), output_bytes=4, stored_bytes=2)}
    plan = read_plan("store 1, free 0, free 1, back 1")
    assert [moment.now_bytes for moment in play_plan(plan, chain)] == [14, 6, 6, 6]


def test_a_view_costs_nothing_and_keeps_what_it_looks_at():
    chain = {0: Node(), 1: Node((0,), output_bytes=6), 2: Node((1,), output_bytes=0, view_of=1), 3: Node((2,), (2,))}
    plan = read_plan("store 1, free 0, store 2, free 1, store 3, free 2, back 3, back 2, back 1")
    assert [moment.now_bytes for moment in play_plan(plan, chain)] == [7, 6, 6, 6, 7, 7, 7, 1, 1]


def test_a_value_that_two_nodes_need_counts_once():
    graph = {0: Node(), 1: Node((0,), (0,)), 2: Node((0, 1), (0, 1)), 3: Node((2,), (2,))}
    plan = read_plan("store 1, store 2, store 3, free 3, back 3, free 2, back 2, back 1")
    assert [moment.now_bytes for moment in play_plan(plan, graph)] == [2, 3, 4, 3, 3, 2, 2, 2]


def test_what_is_moved_lives_on_the_host_until_it_is_fetched():
    chain = {0: Node(), 1: Node((0,), (0,), output_bytes=5), 2: Node((1,), (1,), output_bytes=2)}
    plan = read_plan("run 1, move 1, fetch 1, move 1, fetch 1, store 2, free 2, back 2, store 1, free 1, back 1")
    moments = list(play_plan(plan, chain))
    assert [moment.now_bytes for moment in moments] == [6, 6, 6, 6, 6, 8, 6, 6, 11, 1, 1]
    assert [moment.held for moment in moments[:3]] == [(0, 1), (0,), (0, 1)]
    assert [moment.again for moment in moments].count(True) == 1  # store 1; to fetch is not to run
    assert (plan_moved(plan, chain), plan_cost(plan, chain)) == (4 * 5, 3)


def test_what_something_stored_needs_stays_when_it_is_moved():
    plan = read_plan("store 1, move 0, free 1, fetch 0, free 0, back 1")
    assert [moment.now_bytes for moment in play_plan(plan, {0: Node(), 1: Node((0,), (0,))})] == [2, 2, 1, 2, 1, 1]


def test_a_view_cannot_be_moved_without_what_it_looks_at():
    chain = {0: Node(), 1: Node((0,), output_bytes=0, view_of=0)}
    with pytest.raises(PlanError, match="action 1, move 1: its value lies in another's memory"):
        plan_peak(read_plan("run 1, move 1"), chain)


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("run", "action 0 must be a kind and a node, got 'run'"),
        ("run 2", "action 0, run 2: its input 1 is not held"),
        ("run 0", "action 0, run 0: its value is given and cannot be run"),
        ("run 7", "action 0, run 7: the graph has no such node"),
        ("jump 1", "action 0, jump 1: an action is one of run, store, back, free, move, fetch, got 'jump'"),
        ("run 1, free 1, free 1", "action 2, free 1: its value is not held"),
        ("move 1", "action 0, move 1: its value is not held"),
        ("run 1, fetch 1", "action 1, fetch 1: the host has no copy of its value"),
        ("run 1, move 1, run 2", "action 2, run 2: its input 1 is on the host"),
        ("store 1, store 1", "action 1, store 1: it is stored already"),
        ("run 1, back 1", "action 1, back 1: what it needs is not stored"),
        ("store 1, back 1", "action 1, back 1: 2, which takes its value, was not propagated back yet"),
        ("store 1, store 2, store 3, back 3, store 3", "action 4, store 3: it was propagated back already"),
        ("store 1, store 2, store 3, back 3, back 2", "the plan ends, and 1 was never propagated back"),
    ],
)
def test_a_plan_that_cannot_be_carried_out_is_refused_with_its_reason(words, reason):
    with pytest.raises(PlanError, match=reason):
        check_plan(read_plan(words), CHAIN)


def test_a_plan_over_its_budget_is_refused_where_it_goes_over():
    check_plan(ALL, CHAIN, budget_bytes=4)
    with pytest.raises(PlanError, match="action 3, store 3: 4 bytes live, 3 are allowed"):
        check_plan(ALL, CHAIN, budget_bytes=3)
