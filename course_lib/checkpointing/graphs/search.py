"""The fastest plan of all, by trying every one: for graphs of a few nodes, to hold other plans against."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from heapq import heappop, heappush
from itertools import count
from typing import NamedTuple

from course_lib.checkpointing.graphs.cuts import computed_nodes
from course_lib.checkpointing.plan import Graph

__all__ = ["min_cost"]

Piece = tuple[Hashable, int]  # of memory: the node whose value it holds, and a number, for there may be several


class _State(NamedTuple):
    """What lives between two actions.

    Attributes:
        held: the values held.
        stored: (node, what its backward pass needs) for what is stored.
        left: how many nodes were not yet propagated back.
    """

    held: frozenset[Piece]
    stored: frozenset[tuple[Hashable, frozenset[Piece]]]
    left: int

    def pieces(self) -> frozenset[Piece]:
        """All memory of values, each piece once."""
        return self.held.union(*(needs for _, needs in self.stored))


def min_cost(graph: Graph, budget_bytes: float) -> float:
    """The least time of any plan within a budget; infinite if there is none. For graphs without views.

    Tries all plans in which a node is propagated back as soon as it can be (nothing is lost by that), in the reverse of
    the graph's order, and a value that is held is not run again. Dijkstra's algorithm over what lives.
    """
    nodes, ticket = computed_nodes(graph), count()
    given = frozenset((node, 0) for node in graph if not graph[node].inputs)
    queue = [(0.0, next(ticket), _State(given, frozenset(), len(nodes)))]
    seen: set[_State] = set()
    while queue:
        cost, _, state = heappop(queue)
        if not state.left:
            return cost
        if state not in seen:
            seen.add(state)
            for more, after in _steps(state, nodes, graph, budget_bytes):
                heappush(queue, (cost + more, next(ticket), after))
    return float("inf")


def _steps(state: _State, nodes: list[Hashable], graph: Graph, budget_bytes: float) -> Iterator[tuple[float, _State]]:
    """Every action that fits, with its time."""
    for piece in state.held:
        yield 0.0, state._replace(held=state.held - {piece})
    held = dict(state.held)
    stored = dict(state.stored)
    pieces = state.pieces()
    for node in nodes[: state.left]:
        if node in held or node in stored or not all(each in held for each in graph[node].inputs):
            continue
        fresh = node, next(number for number in count() if (node, number) not in pieces)
        run = state._replace(held=state.held | {fresh})
        needs = frozenset(piece for piece in run.held if piece[0] in graph[node].needs)
        for after in (run, run._replace(stored=state.stored | {(node, needs)})):
            live = sum(graph[each].output_bytes for each, _ in after.pieces())
            if live + sum(graph[each].stored_bytes for each, _ in after.stored) <= budget_bytes:
                yield graph[node].forward_time, _backward(after, nodes)


def _backward(state: _State, nodes: list[Hashable]) -> _State:
    """Propagate back what can be."""
    stored, left = dict(state.stored), state.left
    while left and nodes[left - 1] in stored:
        left -= 1
        del stored[nodes[left]]
    return _State(state.held, frozenset(stored.items()), left)
