"""Divide and conquer by separators: a tree decomposition parts the graph, and the way back opens one part at a time.

Only the values of separators are kept, and only of those parts that lie around the place where the backward pass is:
as many as the parts are deep, log₂ of the nodes, times the nodes of a separator. On a chain this is recursive halving.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from itertools import combinations, groupby
from typing import NamedTuple

from course_lib.checkpointing.graphs.frontier import computed_nodes, with_frees
from course_lib.checkpointing.plan import Action, Graph, Node


class TreeDecomposition(NamedTuple):
    """Bags of nodes in a tree: each edge lies in a bag, and the bags of a node hang together.

    Attributes:
        bags: sets of nodes.
        parents: the bag that each bag hangs on, by number; -1 for a root.
    """

    bags: tuple[frozenset[Hashable], ...]
    parents: tuple[int, ...]

    @property
    def width(self) -> int:
        """The largest bag's nodes, less one: 1 for a tree, so that "wide" begins at 2."""
        return max(map(len, self.bags), default=1) - 1


def neighbors_of(graph: Graph) -> dict[Hashable, set[Hashable]]:
    """For each node those that it shares an edge with, whichever way the value goes."""
    neighbors: dict[Hashable, set[Hashable]] = {node: set() for node in graph}
    for node in graph:
        for each in graph[node].inputs:
            neighbors[node].add(each)
            neighbors[each].add(node)
    return neighbors


def tree_decomposition(graph: Graph) -> TreeDecomposition:
    """Take out node after node, always one whose neighbors lack the fewest edges among them, and join these.

    A node and the neighbors it had when it went are a bag. The width is an upper bound (the least is NP-hard to find),
    and exact for trees and cycles.

    Source: Bodlaender and Koster, "Treewidth computations I. Upper bounds", Information and Computation 208, 2010
    (greedy fill-in).

    >>> from course_lib.checkpointing.plan import Node
    >>> tree_decomposition({"x": Node(), "y": Node(("x",)), "z": Node(("x", "y"))}).width
    2
    """
    left = {node: set(others) for node, others in neighbors_of(graph).items()}
    order = {node: number for number, node in enumerate(graph)}

    def rank(node: Hashable) -> tuple[int, int, int, Hashable]:
        missing = sum(b not in left[a] for a, b in combinations(left[node], 2))
        return missing, len(left[node]), order[node], node

    waiting = [rank(node) for node in left]
    heapify(waiting)
    place: dict[Hashable, int] = {}
    bags: list[frozenset[Hashable]] = []
    while waiting:
        first = heappop(waiting)
        node = first[-1]
        if node in left and first == rank(node):  # else its rank has changed, and stands further on
            others = left.pop(node)
            bags.append(frozenset({node, *others}))
            place[node] = len(place)
            for each in others:
                left[each] = (left[each] | others) - {node, each}
            for each in others.union(*(left[other] for other in others)):
                heappush(waiting, rank(each))
    hangs = (min((place[each] for each in bag if place[each] > number), default=-1) for number, bag in enumerate(bags))
    return TreeDecomposition(tuple(bags), tuple(hangs))


def cut_width(graph: Graph) -> int:
    """The most values that wait at once for a later node, in the graph's order.

    Cost: linear in nodes and edges.
    """
    order = list(graph)
    last = {each: number for number, node in enumerate(order) for each in graph[node].inputs}
    waiting = width = 0
    done = Counter(last.values())  # how many values a node is the last to take
    for number, node in enumerate(order):
        waiting += (node in last) - done[number]
        width = max(width, waiting)
    return width


Nodes = Collection[Hashable]


@dataclass(eq=False)
class SeparatedPart:
    """Some connected nodes: those of its separator, and the parts into which the others fall without these.

    Attributes:
        nodes: all of them, in the graph's order.
        separator: nodes whose values are kept while the backward pass is in this part.
        inner: the parts left.
        depth: 0 for the whole graph.
    """

    nodes: tuple[Hashable, ...]
    separator: frozenset[Hashable]
    inner: list[SeparatedPart] = field(default_factory=list)
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


def parts_of(graph: Graph, leaf: int = 1) -> list[SeparatedPart]:
    """The computed nodes, parted by bags of a tree decomposition until no part has more than `leaf` nodes."""
    if leaf < 1:
        raise ValueError(f"leaf must be at least 1 node, got {leaf}")
    computed = {name: graph[name] for name in computed_nodes(graph)}
    neighbors = {name: {each for each in near if each in computed} for name, near in neighbors_of(graph).items()}
    bags = tree_decomposition(
        {name: Node(tuple(each for each in node.inputs if each in computed)) for name, node in computed.items()}
    )
    order = {name: number for number, name in enumerate(computed)}

    def part(nodes: set[Hashable], meeting: Sequence[int], depth: int) -> SeparatedPart:
        inner: list[SeparatedPart] = []
        separator = frozenset(nodes)
        if len(nodes) > leaf:
            separator = balanced_bag(nodes, neighbors, bags, meeting)
            inner = among(nodes - separator, meeting, depth + 1)
        return SeparatedPart(tuple(sorted(nodes, key=order.__getitem__)), separator, inner, depth)

    def among(nodes: set[Hashable], meeting: Sequence[int], depth: int) -> list[SeparatedPart]:
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
    around: dict[Hashable, list[SeparatedPart]] = {}  # for each node the parts it lies in, the smallest last
    for root in parts_of(graph, leaf):
        _note(root, [], around)
    order: list[tuple[str, Hashable]] = []
    opened: list[SeparatedPart] = []
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


def _note(part: SeparatedPart, outer: list[SeparatedPart], around: dict[Hashable, list[SeparatedPart]]) -> None:
    around.update({node: [*outer, part] for node in part.separator})
    for inner in part.inner:
        _note(inner, [*outer, part], around)


def _opening(
    part: SeparatedPart, opened: list[SeparatedPart], behind: set[Hashable], graph: Graph
) -> list[tuple[str, Hashable]]:
    """Run what the separator needs, given what is kept; of the separator what is still before us."""
    kept = {node for each in opened for node in each.separator}
    wanted = set(part.separator - behind)
    for node in reversed(part.nodes):
        if node in wanted:
            wanted.update(each for each in graph[node].inputs if graph[each].inputs and each not in kept)
    return [("run", node) for node in part.nodes if node in wanted]
