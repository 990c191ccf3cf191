"""Divide and conquer: a few nodes part the graph, each part is parted again, and the way back opens one part at a time.

Only the values of separators are kept, and only of those parts that lie around the place where the backward pass is:
as many as the parts are deep, log₂ of the nodes, times the nodes of a separator. On a chain this is recursive halving.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from course_lib.checkpointing.graphs.cuts import computed_nodes, with_frees
from course_lib.checkpointing.graphs.decomposition import TreeDecomposition, neighbors_of, tree_decomposition
from course_lib.checkpointing.plan import Action, Graph, Node

__all__ = ["Part", "balanced_bag", "components", "parts_of", "separator_plan"]

Nodes = Collection[Hashable]


@dataclass(eq=False)
class Part:
    """Some connected nodes: those of its separator, and the parts into which the others fall without these.

    Attributes:
        nodes: all of them, in the graph's order.
        separator: nodes whose values are kept while the backward pass is in this part.
        inner: the parts left.
        depth: 0 for the whole graph.
    """

    nodes: tuple[Hashable, ...]
    separator: frozenset[Hashable]
    inner: list[Part] = field(default_factory=list)
    depth: int = 0


def components(nodes: Nodes, neighbors: dict[Hashable, set[Hashable]]) -> list[set[Hashable]]:
    """The sets of nodes that hang together."""
    left, found = dict.fromkeys(nodes), []
    while left:
        component, edge = set(), [next(iter(left))]
        while edge:
            node = edge.pop()
            if node in left:
                del left[node]
                component.add(node)
                edge += neighbors[node]
        found.append(component)
    return found


def balanced_bag(
    nodes: Nodes, neighbors: dict[Hashable, set[Hashable]], bags: TreeDecomposition, meeting: Sequence[int]
) -> frozenset[Hashable]:
    """Of a bag that leaves no part with more than half of these nodes, as few as do the same.

    The first bag is taken under which more than half of the nodes hang: fewer hang under each of its branches.

    Args:
        meeting: the numbers of the bags that have some of these nodes, rising.

    Cost: linear in the nodes and the bags.

    Source: Robertson and Seymour, "Graph minors II", Journal of Algorithms 7, 1986: there is such a bag.
    """
    here, under = set(nodes), Counter[int]()
    for number in meeting:  # a bag hangs on a later one
        on = bags.parents[number]
        under[number] += len((bags.bags[number] - (bags.bags[on] if on >= 0 else frozenset())) & here)
        if 2 * under[number] > len(here):
            break
        under[on] += under[number]
    bag = bags.bags[number] & here
    for node in sorted(bag, key=str):
        fewer = bag - {node}
        if fewer and 2 * max(map(len, components(here - fewer, neighbors)), default=0) <= len(here):
            bag = fewer
    return bag


def parts_of(graph: Graph, leaf: int = 1) -> list[Part]:
    """The computed nodes, parted by bags of a tree decomposition until no part has more than `leaf` nodes."""
    if leaf < 1:
        raise ValueError(f"leaf must be at least 1 node, got {leaf}")
    computed = {name: graph[name] for name in computed_nodes(graph)}
    neighbors = {name: {each for each in near if each in computed} for name, near in neighbors_of(graph).items()}
    bags = tree_decomposition(
        {name: Node(tuple(each for each in node.inputs if each in computed)) for name, node in computed.items()}
    )
    order = {name: number for number, name in enumerate(computed)}

    def part(nodes: set[Hashable], meeting: Sequence[int], depth: int) -> Part:
        inner: list[Part] = []
        separator = frozenset(nodes)
        if len(nodes) > leaf:
            separator = balanced_bag(nodes, neighbors, bags, meeting)
            inner = among(nodes - separator, meeting, depth + 1)
        return Part(tuple(sorted(nodes, key=order.__getitem__)), separator, inner, depth)

    def among(nodes: set[Hashable], meeting: Sequence[int], depth: int) -> list[Part]:
        """The parts into which nodes fall, each with the bags that meet it."""
        found = components(sorted(nodes, key=order.__getitem__), neighbors)
        part_of = {node: number for number, component in enumerate(found) for node in component}
        met: list[list[int]] = [[] for _ in found]
        for bag in meeting:
            for number in {part_of[node] for node in bags.bags[bag] if node in part_of}:
                met[number].append(bag)
        return [part(*each, depth) for each in zip(found, met, strict=True)]

    return among(set(computed), range(len(bags.bags)), 0)


def separator_plan(graph: Graph, leaf: int = 1) -> list[Action]:
    """Open the parts around the place of the backward pass, close the others, go back a step, and so on.

    To open a part is to run its nodes as far as its separator needs them, and to keep the separator's values. No part
    of n nodes lies deeper than log₂ n. In a chain each part is opened once, so a node is run at most that often, and
    once more to be stored. The same graph gives the same plan in every process.

    Args:
        leaf: parts of so many nodes are stored as a whole: more memory, less time.

    Source: after Kumar, Purohit, Svitkina, Vee and Wang, "Efficient rematerialization for deep networks", NeurIPS 2019;
    here each gradient is computed once.
    """
    around: dict[Hashable, list[Part]] = {}  # for each node the parts it lies in, the smallest last
    for root in parts_of(graph, leaf):
        _note(root, [], around)
    order: list[tuple[str, Hashable]] = []
    opened: list[Part] = []
    behind: set[Hashable] = set()  # stored now or propagated back already
    for _, group in groupby(reversed(computed_nodes(graph)), key=lambda node: id(around[node][-1])):
        nodes = list(group)[::-1]
        behind.update(nodes)
        outside = (each for node in nodes for each in graph[node].inputs if each in around and each not in behind)
        needed = {id(part): part for each in outside for part in around[each]}  # in the order of the graph
        opened = [part for part in opened if id(part) in needed or part in around[nodes[0]]]
        for part in sorted(needed.values(), key=lambda part: part.depth):
            if part not in opened:
                order += _opening(part, opened, behind, graph)
                opened.append(part)
        order += [("store", node) for node in nodes] + [("back", node) for node in reversed(nodes)]
    return with_frees(order, graph)


def _note(part: Part, outer: list[Part], around: dict[Hashable, list[Part]]) -> None:
    around.update({node: [*outer, part] for node in part.separator})
    for inner in part.inner:
        _note(inner, [*outer, part], around)


def _opening(part: Part, opened: list[Part], behind: set[Hashable], graph: Graph) -> list[tuple[str, Hashable]]:
    """Run what the separator needs, given what is kept; of the separator what is still before us."""
    kept = {node for each in opened for node in each.separator}
    wanted = set(part.separator - behind)
    for node in reversed(part.nodes):
        if node in wanted:
            wanted.update(each for each in graph[node].inputs if graph[each].inputs and each not in kept)
    return [("run", node) for node in part.nodes if node in wanted]
