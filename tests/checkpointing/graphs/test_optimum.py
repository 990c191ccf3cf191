"""The optimum by cuts: equal to trying every plan on chains, never worse than other cuts, and linear in the depth."""

from math import isqrt
from random import Random

import pytest

from course_lib.checkpointing import Node, PlanError, check_plan, plan_chain, plan_cost, plan_peak
from course_lib.checkpointing.graphs import (
    chain_shape,
    computed_nodes,
    cut_plan,
    graph_frontier,
    graph_optimum,
    min_cost,
    residual_shape,
    separator_plan,
    tree_shape,
    unet_shape,
)

from .drawn import any_graph


def cost_within(frontier, budget):
    return min((each.cost for each in frontier if each.peak_bytes <= budget), default=float("inf"))


@pytest.mark.parametrize("graph", [chain_shape(3), chain_shape(5), residual_shape(1), tree_shape(2)])
def test_no_plan_at_all_is_faster_on_a_short_chain_a_block_a_small_tree(graph):
    frontier = graph_frontier(graph)
    for budget in range(1, frontier[-1].peak_bytes + 2):
        assert cost_within(frontier, budget) == min_cost(graph, budget)


@pytest.mark.parametrize("seed", range(8))
def test_no_plan_is_faster_than_the_search_finds_and_the_optimum_by_cuts_comes_near(seed):
    graph = any_graph(5, Random(seed))
    frontier = graph_frontier(graph)
    for each in frontier:
        assert min_cost(graph, each.peak_bytes) <= each.cost
    assert frontier[-1].cost == min_cost(graph, frontier[-1].peak_bytes) == plan_cost(cut_plan(graph), graph)


@pytest.mark.parametrize("seed", range(6))
def test_on_chains_it_is_the_planner_of_chains(seed):
    random, graph = Random(seed), chain_shape(9)
    sizes = [Node((n - 1,), (n - 1,), random.randint(1, 5), 0, random.randint(1, 5)) for n in range(1, 10)]
    graph |= dict(enumerate(sizes, 1))
    for peak, cost, _ in graph_frontier(graph):
        assert plan_cost(plan_chain(graph, peak), graph) == cost


def test_a_unet_can_do_with_less_than_crosses_its_cuts():
    graph = unet_shape(2)
    assert graph_frontier(graph)[0].peak_bytes == 4
    assert min_cost(graph, 3) == 11


@pytest.mark.parametrize(
    "graph",
    [chain_shape(12), residual_shape(4), unet_shape(5), tree_shape(3), *(any_graph(12, Random(s)) for s in range(5))],
)
def test_no_choice_of_cuts_by_hand_is_better(graph):
    frontier, random = graph_frontier(graph), Random(0)
    for count in range(6):
        cuts = sorted(random.sample(computed_nodes(graph)[:-1], count), key=list(graph).index)
        plan = cut_plan(graph, cuts)
        assert cost_within(frontier, plan_peak(plan, graph)) <= plan_cost(plan, graph)


@pytest.mark.parametrize("seed", range(10))
def test_each_plan_can_be_carried_out_in_what_it_promises(seed):
    graph = any_graph(15, Random(seed))
    frontier = graph_frontier(graph)
    for peak, cost, plan in frontier:
        check_plan(plan, graph, budget_bytes=peak)
        assert (plan_peak(plan, graph), plan_cost(plan, graph)) == (peak, cost)
    assert [each.peak_bytes for each in frontier] == sorted({each.peak_bytes for each in frontier})
    assert [each.cost for each in frontier] == sorted({each.cost for each in frontier}, reverse=True)


def test_the_optimum_is_the_fastest_that_fits():
    graph = residual_shape(5)
    for budget in (4, 7, 11, 99):
        plan = graph_optimum(graph, budget)
        check_plan(plan, graph, budget)
        assert plan_cost(plan, graph) == cost_within(graph_frontier(graph), budget)
    with pytest.raises(PlanError, match="no plan by these cuts fits into 2 bytes: the smallest needs 3"):
        graph_optimum(graph, 2)


def test_with_a_budget_of_root_n_the_time_grows_linearly_with_the_depth():
    shares = []
    for blocks in (4, 9, 16, 25, 36):
        graph = residual_shape(blocks)
        plan = graph_optimum(graph, 4 * isqrt(blocks) + 2, cuts=range(1, blocks))
        shares.append(plan_cost(plan, graph) / (3 * blocks))
    assert max(shares) < 2
    assert shares[-1] - shares[-2] < 0.1


def test_with_a_budget_that_stays_the_time_of_a_layer_grows_slowly():
    costs = {}
    for blocks in (8, 16, 32):
        graph = residual_shape(blocks)
        costs[blocks] = plan_cost(graph_optimum(graph, 8, cuts=range(1, blocks)), graph) / (3 * blocks)
    assert costs[8] < costs[16] < costs[32] < 1.7 * costs[8]
    assert costs[32] < plan_cost(separator_plan(residual_shape(32)), residual_shape(32)) / 96 + 1


def test_cuts_in_a_fixed_number_of_places_cost_few_runs_more():
    graph, budget = residual_shape(32), 22
    all_cuts, some = graph_optimum(graph, budget, range(1, 32)), graph_optimum(graph, budget, range(2, 32, 2))
    assert plan_cost(all_cuts, graph) <= plan_cost(some, graph) < 1.05 * plan_cost(all_cuts, graph)
