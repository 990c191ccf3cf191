"""Cuts of a graph in the order of its nodes: what crosses them, and the plan that keeps that and nothing else."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

from course_lib.checkpointing.plan import Action, Graph, PlanError

__all__ = ["computed_nodes", "cut_plan", "places_of", "with_frees"]


def computed_nodes(graph: Graph) -> list[Hashable]:
    """All nodes whose values are not given, in order."""
    return [node for node in graph if graph[node].inputs]


def places_of(cuts: Iterable[Hashable], nodes: Sequence[Hashable]) -> list[int]:
    """How many nodes lie before each cut.

    Raises:
        PlanError: if a cut is none of the nodes.
    """
    place = {node: number for number, node in enumerate(nodes, 1)}
    cuts = list(cuts)
    unknown = [cut for cut in cuts if cut not in place]
    if unknown:
        raise PlanError(f"a cut must lie after a computed node, got {unknown[0]!r}")
    return [place[cut] for cut in cuts]


def with_frees(order: Iterable[tuple[str, Hashable]], graph: Graph) -> list[Action]:
    """The plan that does this (run, store and back) and frees every value as soon as no later action takes it.

    Raises:
        PlanError: if an action takes a value that nothing before it computed.

    >>> from course_lib.checkpointing.plan import Node
    >>> graph = {"x": Node(), "y": Node(("x",))}
    >>> ", ".join(map(str, with_frees([("store", "y"), ("back", "y")], graph)))
    'store y, free y, free x, back y'
    """
    taken: set[Hashable] = set()  # by a later action
    backward: list[Action] = []
    for kind, node in reversed([*order]):
        if kind in ("run", "store"):
            inputs = dict.fromkeys(graph[node].inputs)
            backward += [Action("free", each) for each in (*reversed(inputs), node) if each not in taken]
            taken.discard(node)
            taken.update(inputs)
        backward.append(Action(kind, node))
    unknown = [each for each in taken if graph[each].inputs]
    if unknown:
        raise PlanError(f"{unknown[0]} is taken before it is run")
    return backward[::-1]


def cut_plan(graph: Graph, cuts: Iterable[Hashable] = ()) -> list[Action]:
    """Run once and keep what crosses the cuts; then store part after part, the last first, and go back through it.

    Without cuts everything is stored, as plain autograd does.

    Args:
        cuts: the nodes after which to cut, in order.

    Raises:
        PlanError: if a cut is no node that is computed, or they are not in the graph's order.

    Source: Chen et al., "Training deep nets with sublinear memory cost", arXiv 1604.06174.
    """
    nodes = computed_nodes(graph)
    places = places_of(cuts, nodes)
    if places != sorted(places):
        raise PlanError(f"cuts must be in the order of the graph, got {[nodes[place - 1] for place in places]}")
    parts = [nodes[begin:end] for begin, end in zip([0, *places], [*places, len(nodes)], strict=True)]
    order = [("run", node) for part in parts[:-1] for node in part]
    for part in reversed(parts):
        order += [("store", node) for node in part] + [("back", node) for node in reversed(part)]
    return with_frees(order, graph)
