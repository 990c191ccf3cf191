"""The fastest plan of all, by trying every one: for graphs of a few nodes, to hold other plans against."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from heapq import heappop, heappush
from itertools import count
from typing import NamedTuple

from course_lib.checkpointing.graphs.cuts import computed_nodes
from course_lib.checkpointing.plan import Graph

__all__ = ["least_cost"]


class _State(NamedTuple):
    """What lives between two actions.

    Attributes:
        held: node -> which time it was computed, for the values held.
        stored: (node, the pieces of memory that its backward pass needs) for what is stored.
        left: how many nodes were not yet propagated back.
    """

    held: tuple[tuple[Hashable, int], ...]
    stored: tuple[tuple[Hashable, tuple[tuple[Hashable, int], ...]], ...]
    left: int


def least_cost(graph: Graph, budget_bytes: float) -> float:
    """The least time of any plan within a budget; infinite if there is none. For graphs without views.

    Tries all plans in which a node is propagated back as soon as it can be (nothing is lost by that), in the reverse of
    the graph's order, and a value that is held is not run again. Dijkstra's algorithm over what lives.
    """
    nodes, ticket = computed_nodes(graph), count()
    given = tuple((node, 0) for node in graph if not graph[node].inputs)
    queue = [(0.0, next(ticket), _State(given, (), len(nodes)))]
    seen: set[_State] = set()
    while queue:
        cost, _, state = heappop(queue)
        if state in seen:
            continue
        seen.add(state)
        if not state.left:
            return cost
        for more, after in _steps(state, nodes, graph, budget_bytes):
            if after not in seen:
                heappush(queue, (cost + more, next(ticket), after))
    return float("inf")


def _steps(state: _State, nodes: list[Hashable], graph: Graph, budget_bytes: float) -> Iterator[tuple[float, _State]]:
    """Every action that fits, with its time."""
    held, stored = dict(state.held), dict(state.stored)
    for node in held:
        yield 0.0, _tidy({each: time for each, time in held.items() if each != node}, stored, state.left, nodes)
    for node in nodes[: state.left]:
        if node in held or node in stored or not all(each in held for each in graph[node].inputs):
            continue
        time = 1 + max((when for need in stored.values() for each, when in need if each == node), default=0)
        after = {**held, node: time}
        needs = tuple((each, after[each]) for each in graph[node].needs)
        for new in (stored, {**stored, node: needs}):
            if _bytes(after, new, graph) <= budget_bytes:
                yield graph[node].forward_time, _tidy(after, new, state.left, nodes)


def _bytes(held: dict, stored: dict, graph: Graph) -> int:
    """All that lives, each piece of memory once."""
    pieces = {*held.items(), *(piece for needs in stored.values() for piece in needs)}
    return sum(graph[node].output_bytes for node, _ in pieces) + sum(graph[node].stored_bytes for node in stored)


def _tidy(held: dict, stored: dict, left: int, nodes: list[Hashable]) -> _State:
    """Propagate back what can be, and number each node's living pieces from 0, so that equal states look equal."""
    stored = dict(stored)
    while left and nodes[left - 1] in stored:
        left -= 1
        del stored[nodes[left]]
    pieces = sorted({*held.items(), *(piece for needs in stored.values() for piece in needs)}, key=str)
    number: dict[tuple[Hashable, int], int] = {}
    for node, time in pieces:
        number[node, time] = sum(each == node for each, _ in number)
    living = sorted(((node, number[node, time]) for node, time in held.items()), key=str)
    needed = ((node, tuple((each, number[each, time]) for each, time in needs)) for node, needs in stored.items())
    return _State(tuple(living), tuple(sorted(needed, key=str)), left)
