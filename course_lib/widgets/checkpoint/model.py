"""What the checkpoint explorer computes: a graph, each strategy's plan for it, and what lives while one is played."""

from __future__ import annotations

import functools
from collections.abc import Hashable
from dataclasses import replace
from math import isqrt
from typing import NamedTuple

from course_lib.checkpointing import (
    Action,
    Graph,
    PlanError,
    PlanStep,
    halving,
    plan_cost,
    plan_peak,
    play_plan,
)
from course_lib.checkpointing.graphs import (
    SHAPES,
    FrontierPlan,
    computed_nodes,
    cut_plan,
    graph_frontier,
    separator_plan,
    with_frees,
)

__all__ = ["SIZES", "STRATEGIES", "CheckpointSetting", "frontier_of", "graph_of", "moments_of", "plan_of", "points_of"]

Plan = tuple[Action, ...]

BEST, OWN = "best plan for the budget", "your own"
STRATEGIES = ("plain autograd", "keep nothing", "√n segments", "halving", BEST)
SIZES = {"chain": (2, 20), "residual network": (1, 6), "U-Net": (1, 6), "tree": (1, 4)}


class CheckpointSetting(NamedTuple):
    """All that the controls say."""

    graph: str
    size: int
    strategy: str
    budget: int
    step: int = 0
    own: Plan | None = None

    @property
    def fitting(self) -> CheckpointSetting:
        """The same with a size that its graph has."""
        low, high = SIZES[self.graph]
        return self._replace(size=min(max(self.size, low), high))


@functools.lru_cache(maxsize=64)
def graph_of(graph: str, size: int) -> Graph:
    """The graph of equal nodes; what it is given counts as a value, too."""
    shape = SHAPES[graph](size)
    return {name: node if node.inputs else replace(node, output_bytes=1) for name, node in shape.items()}


@functools.lru_cache(maxsize=64)
def frontier_of(graph: str, size: int) -> list[FrontierPlan]:
    """The best plans by cuts, for every budget."""
    return graph_frontier(graph_of(graph, size))


@functools.lru_cache(maxsize=256)
def _fixed(graph: str, size: int, strategy: str) -> Plan:
    """The plan of a strategy that knows no budget."""
    shape = graph_of(graph, size)
    nodes = computed_nodes(shape)
    if strategy == "keep nothing":
        return _keep_nothing(shape, nodes)
    if strategy == "√n segments":
        long = isqrt(len(nodes) - 1) + 1
        return tuple(cut_plan(shape, nodes[long - 1 : -1 : long]))
    if strategy == "halving":
        return tuple(halving(0, size) if graph == "chain" else separator_plan(shape))
    return tuple(cut_plan(shape))


def _keep_nothing(shape: Graph, nodes: list[Hashable]) -> Plan:
    """Run all that a node depends on, store the node, go back through it; and again for the node before it."""
    order: list[tuple[str, Hashable]] = []
    for node in reversed(nodes):
        needed = {node}
        for each in reversed(nodes[: nodes.index(node) + 1]):
            needed.update(shape[each].inputs if each in needed else ())
        order += [("run", each) for each in nodes if each in needed - {node}] + [("store", node), ("back", node)]
    return tuple(with_frees(order, shape))


def plan_of(setting: CheckpointSetting) -> Plan:
    """The plan that the setting chooses; where nothing fits into the budget, the smallest there is."""
    if setting.strategy == OWN:
        return setting.own or ()
    if setting.strategy != BEST:
        return _fixed(setting.graph, setting.size, setting.strategy)
    frontier = frontier_of(setting.graph, setting.size)
    return tuple(([each for each in frontier if each.peak_bytes <= setting.budget] or frontier[:1])[-1].plan)


@functools.lru_cache(maxsize=64)
def _played(graph: str, size: int, plan: Plan) -> list[PlanStep]:
    return [each for each in play_plan(plan, graph_of(graph, size)) if each.action.kind != "free"]


def moments_of(setting: CheckpointSetting) -> list[PlanStep]:
    """What lives during every action but those that free.

    Raises:
        PlanError: if it is your own and cannot be carried out.
    """
    return _played(setting.graph, setting.size, plan_of(setting))


def points_of(setting: CheckpointSetting) -> dict[str, tuple[int, float]]:
    """(values at the peak, forward passes) of each strategy, and of your own if it can be carried out."""
    shape = graph_of(setting.graph, setting.size)
    one = len(computed_nodes(shape))
    plans = {name: _fixed(setting.graph, setting.size, name) for name in STRATEGIES if name != BEST}
    points = {name: (plan_peak(plan, shape), plan_cost(plan, shape) / one) for name, plan in plans.items()}
    try:
        own = {OWN: (plan_peak(setting.own, shape), plan_cost(setting.own, shape) / one)} if setting.own else {}
    except PlanError:
        own = {}
    return points | own
