"""The checkpoint explorer: it shows what the plan does, where it stands, and what is wrong with one's own."""

from dataclasses import replace

import pytest

from course_lib.checkpointing import plan_peak, revolve_closed_form
from course_lib.checkpointing.graphs import graph_frontier
from course_lib.widgets import CheckpointExplorer
from course_lib.widgets.checkpoint import (
    SIZES,
    STRATEGIES,
    CheckpointSetting,
    frontier_of,
    graph_of,
    plan_of,
    points_of,
)

from .parts import facts_of, part

SETTING = CheckpointSetting()


def test_the_best_plan_is_the_fastest_in_its_budget():
    facts = facts_of(CheckpointExplorer(size=10, budget=5))
    assert (facts["values at the peak"], facts["forward runs"], facts["run again"]) == ("5", "19", "9 times")
    assert facts["forward passes"] + " passes" == facts["best plan in this memory"] == "1.90 passes"
    assert [each.cost for each in frontier_of("chain", 10)] == [
        each.cost for each in graph_frontier(graph_of("chain", 10))
    ]
    assert 10 + revolve_closed_form(10, 3) > 19  # Revolve stores a layer only when its gradient is there


def test_a_budget_that_is_too_small_gives_the_smallest_plan_and_says_so():
    assert facts_of(CheckpointExplorer(size=10, budget=1))["budget"] == "1 (too small)"


def test_strategies_for_a_chain_are_those_of_the_page_and_count_its_input():
    points = points_of(CheckpointSetting(size=16))
    assert points["plain autograd"] == (17, 1)
    assert points["√n segments"] == (8, 28 / 16)
    assert points["halving"] == (6, 3)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("graph", SIZES)
def test_every_strategy_has_a_plan_for_the_smallest_and_the_largest_graph(graph, strategy):
    for size in SIZES[graph]:
        explorer = CheckpointExplorer(graph=graph, size=size, strategy=strategy, budget=9, step=3)
        assert explorer.problem is None
        assert len(explorer.parts) == 5
        setting = CheckpointSetting(graph, size, strategy, budget=9)
        assert facts_of(explorer)["values at the peak"] == str(plan_peak(plan_of(setting), graph_of(graph, size)))


def test_no_strategy_but_by_more_than_cuts_lies_below_the_best_plans():
    for name, (peak, passes) in points_of(SETTING).items():
        best = min(each.cost for each in frontier_of("chain", 10) if each.peak_bytes <= peak)
        assert best / 10 <= passes, name


def test_a_step_is_told_in_words():
    explorer = CheckpointExplorer(size=10, budget=5, step=17)
    assert (
        explorer.caption == "Step 17 of 29: runs and stores 6 again. Held: 0, 5, 6. Stored: 5, 6. 4 values are alive."
    )
    assert "17" in part(explorer, "The plan").label


def test_steps_and_sizes_follow_the_graph():
    explorer = CheckpointExplorer(size=20, budget=2, step=300)
    assert explorer.step_slider.value == explorer.step_slider.max > 150
    explorer.set(graph="tree")
    assert explorer.values["size"] == 4
    assert explorer.problem is None


def test_a_plan_of_ones_own_is_played_if_it_can_be_carried_out_and_explained_if_not():
    good = "run 1, store 2, free 1, free 2, back 2, store 1, free 1, back 1"
    assert facts_of(CheckpointExplorer(good, size=2))["forward passes"] == "1.50"
    assert "your own" in points_of(replace(SETTING, size=2, own=CheckpointExplorer(good, size=2).asked.own))
    moved = CheckpointExplorer(
        good.replace("store 2", "move 0, store 2").replace("store 1", "fetch 0, store 1"), size=2
    )
    assert facts_of(moved)["forward passes"] == "1.50"
    moved.set(step=2)
    assert "gives the host 0" in moved.caption
    bad = CheckpointExplorer("store 1, back 2", size=2)
    assert bad.caption == "This plan cannot be carried out: action 1, back 2: what it needs is not stored."
    assert part(bad, "Time against memory").here is None


def test_a_plan_for_another_graph_is_no_error_of_the_explorer():
    explorer = CheckpointExplorer("store 1, free 1, back 1", size=4)
    assert "action 2, back 1: 2, which takes its value, was not propagated back yet" in explorer.caption
    explorer.set(graph="U-Net")
    assert "the graph has no such node" in explorer.caption
