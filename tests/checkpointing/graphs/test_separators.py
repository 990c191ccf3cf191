"""Divide and conquer: a chain by hand; on trees and narrow graphs, log n deep, log n values and log n runs a node."""

import os
import subprocess
import sys
from collections import Counter
from math import ceil, log2
from pathlib import Path
from random import Random

import pytest

from course_lib.checkpointing import Node, check_plan, plan_cost, plan_peak
from course_lib.checkpointing.graphs import (
    chain_shape,
    computed_nodes,
    cut_width,
    parts_of,
    residual_shape,
    separator_plan,
    separators,
    tree_decomposition,
    tree_shape,
    unet_shape,
)

from .drawn import any_graph, any_tree


def inner_parts(parts):
    for part in parts:
        yield part
        yield from inner_parts(part.inner)


def test_a_chain_of_three_by_hand():
    plan = separator_plan(chain_shape(3))
    assert [str(action) for action in plan if action.kind != "free"] == [
        *("run 1", "run 2", "store 3", "back 3"),
        *("run 1", "store 2", "back 2"),
        *("store 1", "back 1"),
    ]


@pytest.mark.parametrize(
    "graph", [chain_shape(40), residual_shape(13), unet_shape(12), tree_shape(5), any_graph(40, Random(1))]
)
def test_every_part_has_at_most_half_of_the_nodes_of_the_part_around_it(graph):
    parts = list(inner_parts(parts_of(graph)))
    for part in parts:
        assert all(2 * len(each.nodes) <= len(part.nodes) for each in part.inner)
    assert sorted(map(str, computed_nodes(graph))) == sorted(str(node) for part in parts for node in part.separator)


@pytest.mark.parametrize("length", [1, 2, 7, 63, 100, 255])
def test_a_chain_takes_log_n_memory_and_n_log_n_time(length):
    graph, depth = chain_shape(length), ceil(log2(length + 1))
    plan = separator_plan(graph)
    check_plan(plan, graph)
    assert plan_peak(plan, graph) <= depth + 1
    assert plan_cost(plan, graph) <= length * depth


@pytest.mark.parametrize("seed", range(15))
def test_a_tree_takes_few_values_and_few_runs(seed):
    graph = any_tree(120, Random(seed))
    plan = separator_plan(graph)
    check_plan(plan, graph)
    assert plan_peak(plan, graph) <= cut_width(graph) + 2 * log2(120)
    assert plan_cost(plan, graph) <= 120 * (2 * log2(120) + 1)


@pytest.mark.parametrize("depth", [3, 5, 8])
def test_a_balanced_tree_takes_as_many_values_as_it_is_deep(depth):
    graph = tree_shape(depth)
    assert plan_peak(separator_plan(graph), graph) <= depth + 1


@pytest.mark.parametrize("blocks", [2, 8, 32, 85])
def test_a_residual_net_takes_a_bag_a_level(blocks):
    graph, nodes = residual_shape(blocks), 3 * blocks
    plan = separator_plan(graph)
    check_plan(plan, graph)
    assert plan_peak(plan, graph) <= (tree_decomposition(graph).width + 1) * log2(nodes) + cut_width(graph)
    assert plan_cost(plan, graph) <= nodes * (log2(nodes) + 1)


def test_a_deep_unet_fits_into_fewer_values_than_cross_its_middle():
    graph = unet_shape(31)
    plan = separator_plan(graph)
    check_plan(plan, graph)
    assert cut_width(graph) == 32
    assert plan_peak(plan, graph) < 20
    assert max(Counter(action.node for action in plan if action.kind in ("run", "store")).values()) <= 2 * log2(63) + 1


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("leaf", [1, 3, 10])
def test_any_graph_is_carried_out(seed, leaf):
    graph = any_graph(25, Random(seed))
    check_plan(separator_plan(graph, leaf), graph)


def test_larger_leaves_take_less_time():
    graph = chain_shape(64)
    costs = [plan_cost(separator_plan(graph, leaf), graph) for leaf in (1, 8, 64)]
    assert costs == sorted(costs, reverse=True)
    assert costs[-1] == 64
    with pytest.raises(ValueError, match="leaf must be at least 1 node, got 0"):
        separator_plan(graph, 0)


@pytest.mark.parametrize("shape", [chain_shape, lambda nodes: residual_shape(nodes // 3)], ids=["chain", "residual"])
def test_planning_looks_at_a_node_a_few_times_a_level(shape, monkeypatch):
    looks = []

    def counted(nodes, neighbors, components=separators.components):
        looks.append(len(nodes))
        return components(nodes, neighbors)

    monkeypatch.setattr(separators, "components", counted)
    for nodes in (96, 192, 384):
        looks.clear()
        separator_plan(shape(nodes))
        assert sum(looks) < 4 * nodes * log2(nodes)


class Name(str):
    """A node's name whose hash is as in a process of another PYTHONHASHSEED."""

    seed = 0

    def __hash__(self):
        return hash((self.seed, int(self[1:])))


@pytest.mark.parametrize("seed", range(4))
def test_plans_do_not_depend_on_the_hashes_of_names(seed, monkeypatch):
    plans = set()
    for hash_seed in range(3):
        monkeypatch.setattr(Name, "seed", hash_seed)
        drawn = any_graph(40, Random(seed)).items()
        graph = {Name(f"n{name}"): Node(tuple(Name(f"n{each}") for each in node.inputs)) for name, node in drawn}
        plans.add(" ".join(map(str, separator_plan(graph))))
    assert len(plans) == 1


PRINT_PLANS = """
from random import Random
from drawn import any_graph
from course_lib.checkpointing import Node
from course_lib.checkpointing.graphs import separator_plan
for seed in range(4):
    drawn = any_graph(40, Random(seed)).items()
    print(*separator_plan({f"n{name}": Node(tuple(f"n{each}" for each in node.inputs)) for name, node in drawn}))
"""


@pytest.mark.exhaustive
def test_plans_are_the_same_in_processes_with_other_hashes():
    plans = []
    for seed in ("0", "1", "2"):
        environment = os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": str(Path(__file__).parent)}
        command = [sys.executable, "-c", PRINT_PLANS]
        plans.append(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)
    assert plans[0] == plans[1] == plans[2]
    assert len(plans[0].splitlines()) == 4
