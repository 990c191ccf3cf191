"""The cheapest plan within a budget: equal to trying everything, never worse than what one would write by hand."""

from itertools import pairwise

import pytest
from exhaustive_search import cheapest_cost
from sample_chains import random_chain, unit_chain

from course_lib.checkpointing import (
    ChainPlanner,
    Node,
    PlanError,
    best_segments,
    check_plan,
    halving,
    plan_chain,
    plan_cost,
    plan_peak,
    revolve,
    segment_plan,
    store_segment,
    torch_segments,
)
from course_lib.checkpointing.optimum import piece_of


def test_three_layers_by_hand():
    planner = ChainPlanner(unit_chain(3))
    assert planner.frontier() == [(3, 5.0), (4, 3.0)]
    assert ", ".join(map(str, planner.plan(3))) == (
        "run 1, run 2, free 1, store 3, free 2, free 3, back 3, "
        "store 1, free 0, store 2, free 1, free 2, back 2, back 1"
    )


@pytest.mark.parametrize("seed", range(16))
def test_no_plan_that_keeps_what_it_keeps_is_cheaper_on_a_small_chain(seed):
    chain = random_chain(1 + seed % 4, seed)
    planner = ChainPlanner(chain)
    costs = dict(planner.frontier())
    for budget, following in pairwise([*costs, planner.levels * planner.unit_bytes + 1]):
        assert cheapest_cost(chain, budget) == cheapest_cost(chain, following - 1) == costs[budget]
    assert cheapest_cost(chain, min(costs) - 1) == float("inf")


def test_to_keep_a_value_only_for_a_while_can_be_cheaper():
    sizes, needs, times = [3, 1, 4, 4, 2], [(), (0, 1), (1, 2), (2, 3), (3,)], [0, 9, 1, 1, 9]
    rows = zip(sizes, needs, [0, 0, 0, 1, 0], times, strict=True)
    chain = {
        node: Node((node - 1,) if node else (), need, size, own, t) for node, (size, need, own, t) in enumerate(rows)
    }
    assert cheapest_cost(chain, 12) == plan_cost(plan_chain(chain, 12), chain) == 41
    assert cheapest_cost(chain, 12, persistent=False) == 32


@pytest.mark.parametrize("seed", range(20))
def test_every_plan_costs_and_fits_as_promised(seed):
    chain = random_chain(3 + 2 * seed, seed, largest=1000)
    planner = ChainPlanner(chain)
    for budget, cost in planner.frontier():
        plan = planner.plan(budget)
        check_plan(plan, chain, budget)
        assert plan_cost(plan, chain) == cost


@pytest.mark.parametrize("length", [1, 2, 10, 60])
def test_equal_layers_never_take_more_runs_than_revolve(length):
    chain = unit_chain(length)
    planner = ChainPlanner(chain)
    for slots in range(1, 8):
        plan = revolve(length, slots)
        assert plan_cost(planner.plan(plan_peak(plan, chain)), chain) <= plan_cost(plan, chain)


@pytest.mark.parametrize("length", [5, 30, 79, 1000])
def test_never_worse_than_root_n_or_torchs_segments_or_halving(length):
    chain = random_chain(length, seed=length, largest=1000)
    segments = {min(k, length) for k in (2, 3, 7, 30)}
    plans = [segment_plan(best_segments(length)), *(segment_plan(torch_segments(length, k)) for k in segments)]
    for by_hand in [*plans, halving(0, length)][: 3 if length > 500 else None]:
        budget = plan_peak(by_hand, chain)
        best = plan_chain(chain, budget)
        check_plan(best, chain, budget)
        assert plan_cost(best, chain) <= plan_cost(by_hand, chain)


def test_a_budget_for_everything_costs_one_run_of_each_layer():
    for length in (1, 9, 79):
        chain = random_chain(length, 3)
        everything = store_segment(0, length)
        assert plan_cost(ChainPlanner(chain).plan(), chain) == plan_cost(everything, chain)


def test_a_piece_of_several_layers_takes_what_its_actions_take():
    for seed in range(30):
        chain = random_chain(6, seed, largest=9)
        piece = piece_of(chain, 0, 6)
        assert piece.store_bytes[1] == plan_peak(store_segment(0, 6), chain)
        assert piece.time == plan_cost(store_segment(0, 6), chain)


def test_what_cannot_be_planned_is_refused():
    with pytest.raises(PlanError, match="no plan fits into 2 bytes"):
        ChainPlanner(unit_chain(5), 2).plan()
    with pytest.raises(PlanError, match="no plan fits into 2 bytes; 3 are enough"):
        ChainPlanner(unit_chain(5)).plan(2)
    with pytest.raises(PlanError, match="no plan fits into 2 bytes"):
        plan_chain(unit_chain(5), 2)
    with pytest.raises(PlanError, match="a chain's nodes are 0 to 2, each taking the one before it; 2 does not"):
        ChainPlanner({0: Node(), 1: Node((0,)), 2: Node((0,))})


def test_a_chain_without_a_layer_and_a_budget_below_nothing_are_refused():
    for graph in ({}, {0: Node()}):
        with pytest.raises(PlanError, match=f"a chain must have an input and a layer, got {len(graph)} nodes"):
            plan_chain(graph, 10)
    with pytest.raises(PlanError, match="no plan fits into 0 bytes"):
        plan_chain(unit_chain(3), -1)
