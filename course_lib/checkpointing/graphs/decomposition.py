"""Tree decompositions: how much like a tree a graph is, and where a few nodes part it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from heapq import heapify, heappop, heappush
from itertools import combinations
from typing import NamedTuple

from course_lib.checkpointing.plan import Graph

__all__ = ["TreeDecomposition", "cut_width", "neighbors_of", "tree_decomposition"]


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
