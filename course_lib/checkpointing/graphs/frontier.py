"""Plans by cuts of a graph: what crosses them, the fastest plans for every memory budget, and exhaustive search.

A stretch of nodes, with all that crosses into it held, is propagated back in one of three ways:

    store       all its nodes are stored and propagated back
    keep        the first ones are stored; the others, a stretch, are propagated back; then the first ones
    recompute   the first ones are run, and what crosses into the others is held; the others, a stretch, are propagated
                back; then the first ones, a stretch too

Bytes and time of each follow from where it begins and ends, so the best plans of short stretches give those of longer
ones.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from heapq import heappop, heappush
from itertools import accumulate, count
from typing import Any, NamedTuple

from course_lib.checkpointing.optimum import memory_of
from course_lib.checkpointing.plan import Action, Graph, PlanError


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


class FrontierPlan(NamedTuple):
    """A plan that none of its kind beats: what takes less time takes more memory."""

    peak_bytes: int
    cost: float
    plan: list[Action]


class _Way(NamedTuple):
    """How a stretch is propagated back, the most bytes of it that live, and the time."""

    peak_bytes: int
    cost: float
    kind: str
    cut: int
    sweep: _Sweep | None = None
    later: _Way | None = None  # of the others
    first: _Way | None = None  # of the first ones


class _Sweep(NamedTuple):
    """Running (or storing) a stretch up to a cut.

    Attributes:
        peak_bytes: the most that lives meanwhile.
        kept_bytes: what lives at the cut and stays until the others are propagated back.
        going: the values at the cut that the others may free.
        coming: those values from before the stretch that the first ones take.
    """

    peak_bytes: int
    kept_bytes: int
    going: frozenset[Hashable]
    coming: frozenset[Hashable]


def graph_frontier(
    graph: Graph, cuts: Iterable[Hashable] | None = None, budget_bytes: float = float("inf")
) -> list[FrontierPlan]:
    """The best plans by cuts, from the smallest to the fastest.

    Args:
        cuts: the nodes after which the graph may be cut; all if not given. Few cuts make it fast: the work grows with
            their third power and the number of plans.

    Raises:
        PlanError: if nothing is computed, or a cut is no node that is.

    Source: the recurrence for chains, Beaumont et al., "Optimal checkpointing for heterogeneous chains", arXiv
    1911.13214; what crosses a cut in place of one value, Kusumoto et al., "A graph theoretic framework of recomputation
    algorithms for memory-efficient backpropagation", NeurIPS 2019.
    """
    nodes = computed_nodes(graph)
    if not nodes:
        raise PlanError("a graph must have a node that is computed, got none")
    places = range(1, len(nodes)) if cuts is None else places_of(cuts, nodes)
    stretches = _Stretches(graph, sorted({0, *places, len(nodes)}), budget_bytes)
    return [FrontierPlan(way.peak_bytes, way.cost, with_frees(order, graph)) for way, order in stretches.best()]


def graph_optimum(graph: Graph, budget_bytes: float, cuts: Iterable[Hashable] | None = None) -> list[Action]:
    """The fastest plan by cuts that fits into a budget.

    Args:
        cuts: the nodes after which the graph may be cut, all if not given: a fraction of a second for 50 nodes, and a
            minute and a half for 200. Some 15 cuts lose little and make the work grow with the nodes.

    Raises:
        PlanError: if none fits, naming the least that one needs.
    """
    frontier = graph_frontier(graph, cuts, budget_bytes)
    if not frontier:
        least = graph_frontier(graph, cuts)[0].peak_bytes
        raise PlanError(f"no plan by these cuts fits into {budget_bytes} bytes: the smallest needs {least}")
    return frontier[-1].plan


def _best(ways: list[Any]) -> list[Any]:
    """Those that no other beats in both peak and cost, from the smallest to the fastest."""
    ordered = sorted(ways, key=lambda way: way[:2])
    least = accumulate((way.cost for way in ordered), min, initial=float("inf"))
    return [way for way, before in zip(ordered, least, strict=False) if way.cost < before]


class _Stretches:
    """The best ways of every stretch between two cuts."""

    def __init__(self, graph: Graph, ends: list[int], budget_bytes: float) -> None:
        self.graph = graph
        self.nodes = computed_nodes(graph)
        self.ends = ends
        self.budget_bytes = budget_bytes
        self.memory = {node: memory_of(graph, node) for node in graph}
        self._known: dict[tuple[Any, ...], list[_Way]] = {}
        self._given = frozenset(each for node in graph for each in graph[node].inputs if not graph[each].inputs)

    def best(self) -> Iterator[tuple[_Way, list[tuple[str, Hashable]]]]:
        """The ways of the whole graph, and what each does."""
        whole = 0, len(self.ends) - 1, self._given
        for way in self.ways(*whole):
            yield way, self._order(*whole, way)

    def ways(self, begin: int, end: int, going: frozenset[Hashable]) -> list[_Way]:
        """The best ways of the nodes between two cuts; of the values held before, they may free those that are `going`.

        The bytes are those of the stretch and of these values.
        """
        key = begin, end, going
        if key not in self._known:
            tried: dict[int, tuple[Any, ...]] = {}
            for way in self._try(*key):
                if way[0] <= self.budget_bytes and (way[0] not in tried or way[1] < tried[way[0]][1]):
                    tried[way[0]] = way
            self._known[key] = _best([_Way(*way) for way in tried.values()])
        return self._known[key]

    def _try(self, begin: int, end: int, going: frozenset[Hashable]) -> Iterator[tuple[Any, ...]]:
        """All ways, as tuples: there are many, and most are no good."""
        run, store = self._sweep(begin, end, going, "run"), self._sweep(begin, end, going, "store")
        cost = 0.0
        for cut in range(begin + 1, end):
            cost += self._cost(cut - 1, cut)
            for way in self.ways(cut, end, store[cut].going):
                peak = max(store[cut].peak_bytes, store[cut].kept_bytes + way.peak_bytes)
                yield peak, cost + way.cost, "keep", cut, store[cut], way
            later, first = self.ways(cut, end, run[cut].going), self.ways(begin, cut, run[cut].coming)
            peaks = [max(run[cut].peak_bytes, run[cut].kept_bytes + way.peak_bytes) for way in later]
            for peak, a, b in _pairs(peaks, [way.peak_bytes for way in first]):
                yield peak, cost + later[a].cost + first[b].cost, "recompute", cut, run[cut], later[a], first[b]
        yield store[end].peak_bytes, cost + self._cost(end - 1, end), "store", end

    def _cost(self, begin: int, end: int) -> float:
        return sum(self.graph[node].forward_time for node in self.nodes[self.ends[begin] : self.ends[end]])

    def _sweep(self, begin: int, end: int, going: frozenset[Hashable], kind: str) -> dict[int, _Sweep]:
        """Run or store a stretch, and look at every cut."""
        graph = self.graph
        memory = self.memory
        start = self.ends[begin]
        nodes = self.nodes[start : self.ends[end]]
        last = {each: place for place, node in enumerate(nodes, start + 1) for each in graph[node].inputs}
        cuts = {place: cut for cut, place in enumerate(self.ends)}
        own, values = {memory[each] for each in going}, set(going)
        taken: set[Hashable] = set()
        pinned: set[Hashable] = set()
        peak = 0
        stored = 0
        sweeps = {}
        for place, node in enumerate(nodes, start + 1):
            values.add(node)
            own |= {node} & {memory[node]}
            taken.update(graph[node].inputs)
            if kind == "store":
                stored += graph[node].stored_bytes
                pinned |= {memory[each] for each in graph[node].needs} & own
            alive = pinned | ({memory[each] for each in values} & own)
            peak = max(peak, stored + sum(graph[each].output_bytes for each in alive))
            values = {each for each in values if last.get(each, 0) > place or (kind == "run" and each in going)}
            if place in cuts:
                coming = going & taken if kind == "run" else frozenset()
                kept = pinned | {memory[each] for each in coming}
                free = frozenset(each for each in values - coming if memory[each] not in kept and last[each] > place)
                kept_bytes = stored + sum(graph[each].output_bytes for each in kept)
                sweeps[cuts[place]] = _Sweep(peak, kept_bytes, free, coming)
        return sweeps

    def _order(self, begin: int, end: int, going: frozenset[Hashable], way: _Way) -> list[tuple[str, Hashable]]:
        nodes = self.nodes[self.ends[begin] : self.ends[way.cut]]
        before = [("run" if way.kind == "recompute" else "store", node) for node in nodes]
        after = [("back", node) for node in reversed(nodes)]
        if way.sweep is None or way.later is None:
            return before + after
        if way.first is not None:
            after = self._order(begin, way.cut, way.sweep.coming, way.first)
        return before + self._order(way.cut, end, way.sweep.going, way.later) + after


def _pairs(a: list[int], b: list[int]) -> Iterator[tuple[int, int, int]]:
    """For each peak that two ways can have, the peak and the largest of both that stay within it."""
    i = j = 0
    while i < len(a) and j < len(b):
        peak = max(a[i], b[j])
        while i + 1 < len(a) and a[i + 1] <= peak:
            i += 1
        while j + 1 < len(b) and b[j + 1] <= peak:
            j += 1
        yield peak, i, j
        if i + 1 < len(a) and (j + 1 == len(b) or a[i + 1] <= b[j + 1]):
            i += 1
        else:
            j += 1


MemoryPiece = tuple[Hashable, int]  # of memory: the node whose value it holds, and a number, for there may be several


class _State(NamedTuple):
    """What lives between two actions.

    Attributes:
        held: the values held.
        stored: (node, what its backward pass needs) for what is stored.
        left: how many nodes were not yet propagated back.
    """

    held: frozenset[MemoryPiece]
    stored: frozenset[tuple[Hashable, frozenset[MemoryPiece]]]
    left: int

    def pieces(self) -> frozenset[MemoryPiece]:
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
