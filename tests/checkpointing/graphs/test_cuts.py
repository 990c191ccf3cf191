"""Plans by cuts: when a value is freed, and the plan of a hand-picked cut."""

import pytest

from course_lib.checkpointing import PlanError, check_plan, plan_cost, plan_peak
from course_lib.checkpointing.graphs import (
    chain_shape,
    computed_nodes,
    cut_plan,
    graph_frontier,
    residual_shape,
    with_frees,
)


def written(plan):
    return ", ".join(map(str, plan))


def test_a_value_is_freed_after_the_last_action_that_takes_it():
    order = [("run", 1), ("store", 2), ("back", 2), ("store", 1), ("back", 1)]
    expected = "run 1, store 2, free 2, free 1, back 2, store 1, free 1, free 0, back 1"
    assert sorted(written(with_frees(order, chain_shape(2))).split(", ")) == sorted(expected.split(", "))
    check_plan(with_frees(order, chain_shape(2)), chain_shape(2), budget_bytes=2)


def test_a_value_that_nothing_runs_is_missed():
    with pytest.raises(PlanError, match="1 is taken before it is run"):
        with_frees([("store", 2)], chain_shape(2))


def test_without_cuts_everything_is_stored_as_autograd_does():
    graph = residual_shape(3)
    plan = cut_plan(graph)
    check_plan(plan, graph)
    assert [action.kind for action in plan if action.kind != "free"] == ["store"] * 9 + ["back"] * 9
    assert plan_cost(plan, graph) == 9


def test_a_cut_costs_a_second_run_of_all_before_it():
    graph = residual_shape(4)
    plan = cut_plan(graph, [1, 3])
    check_plan(plan, graph)
    assert plan_cost(plan, graph) == 12 + 9
    assert plan_peak(plan, graph) < plan_peak(cut_plan(graph), graph)


def test_cuts_that_are_no_places_of_the_graph_are_refused():
    graph = chain_shape(4)
    nodes = computed_nodes(graph)
    for planned in (cut_plan, graph_frontier):
        with pytest.raises(PlanError, match="a cut must lie after a computed node, got 'x'"):
            planned(graph, ["x"])
    with pytest.raises(PlanError, match="cuts must be in the order of the graph"):
        cut_plan(graph, [nodes[2], nodes[0]])
    with pytest.raises(PlanError, match="a graph must have a node that is computed"):
        graph_frontier({})
