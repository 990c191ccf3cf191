"""A plan as data: what a training step runs, stores, runs again, propagates back and frees; its check and its memory.

A network is a graph of nodes. Each node gives one value, made of those of its inputs; a node without inputs is given
(the batch). A plan is a list of actions:

    run    compute the node's value and hold it, and nothing else
    store  the same, and store what its backward pass needs
    back   propagate the gradient back through the node; what was stored goes
    free   no longer hold the node's value
    move   copy the node's value to the host's memory, and no longer hold it here
    fetch  hold the copy of it that the host has

To run or store a node that was run before is to recompute it. A value lives for as long as the plan holds it or
something stored needs it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

KINDS = ("run", "store", "back", "free", "move", "fetch")


class Action(NamedTuple):
    """One action of a plan, on one node.

    >>> str(Action("store", 3))
    'store 3'
    """

    kind: str
    node: Hashable

    def __str__(self) -> str:
        return f"{self.kind} {self.node}"


Plan = Sequence[Action]


@dataclass(frozen=True)
class Node:
    """One node of a graph; a layer, mostly.

    Attributes:
        inputs: the nodes whose values it takes; none if its value is given.
        needs: the nodes whose values its backward pass needs: of its inputs, or its own.
        output_bytes: size of its value; 0 for a view.
        stored_bytes: what its backward pass needs beside those values (a mask, indices, what lies inside a block).
        forward_time: how long it takes forward, in any unit.
        view_of: the input in whose memory its value lies, if it is a view.
    """

    inputs: tuple[Hashable, ...] = ()
    needs: tuple[Hashable, ...] = ()
    output_bytes: int = 1
    stored_bytes: int = 0
    forward_time: float = 1.0
    view_of: Hashable | None = None


Graph = Mapping[Hashable, Node]  # in an order in which all can be run


def equal_layers(length: int) -> dict[Hashable, Node]:
    """A chain of layers that take equally long, each needing its input to go back; all values, the input too, are 1.

    >>> list(equal_layers(2))
    [0, 1, 2]
    """
    chain: dict[Hashable, Node] = {0: Node()}
    for layer in range(1, length + 1):
        chain[layer] = Node(inputs=(layer - 1,), needs=(layer - 1,))
    return chain


class PlanError(ValueError):
    """What is wrong with a plan, in words."""


def read_plan(words: str) -> list[Action]:
    """The plan that is written as its actions, with commas between; a node of digits is a number.

    Raises:
        PlanError: if an action is not two words.

    >>> read_plan("store 1, back 1")
    [Action(kind='store', node=1), Action(kind='back', node=1)]
    """
    pairs = [word.split() for word in words.split(",") if word.strip()]
    for number, pair in enumerate(pairs):
        if len(pair) != 2:
            raise PlanError(f"action {number} must be a kind and a node, got {' '.join(pair)!r}")
    return [Action(kind, int(node) if node.isdecimal() else node) for kind, node in pairs]


class PlanStep(NamedTuple):
    """One action of a plan that is played, and which values and bytes are live during it.

    Attributes:
        action: what is done.
        again: whether this computes a value that was computed before.
        held: the nodes whose values the plan holds.
        stored: the nodes whose backward pass could begin.
        now_bytes: all that lives, each piece of memory once. Gradients and parameters are not counted.
    """

    action: Action
    again: bool
    held: tuple[Hashable, ...]
    stored: tuple[Hashable, ...]
    now_bytes: int


class _Player:
    """What a plan holds, action by action. A piece of memory is (the node that made it, for which time)."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.consumers: dict[Hashable, list[Hashable]] = {node: [] for node in graph}
        for node in graph:
            for each in graph[node].inputs:
                self.consumers[each].append(node)
        self.holders: Counter[tuple[Any, ...]] = Counter()
        self.runs: Counter[Hashable] = Counter()
        self.made: Counter[Hashable] = Counter()
        self.now_bytes = 0
        self.held: dict[Hashable, tuple[Any, ...]] = {}
        self.stored: dict[Hashable, list[tuple[Any, ...]]] = {}
        self.done: set[Hashable] = set()
        self.on_host: set[Hashable] = set()
        for node in graph:
            if not graph[node].inputs:
                self._compute(node)

    def do(self, action: Action) -> PlanStep:
        """Do one action and say what lived meanwhile.

        Raises:
            PlanError: if it cannot be done now.
        """
        kind, node = action
        if kind not in KINDS:
            raise PlanError(f"an action is one of {', '.join(KINDS)}, got {kind!r}")
        if node not in self.graph:
            raise PlanError("the graph has no such node")
        again = kind in ("run", "store") and self.runs[node] > 0
        let_go: list[tuple[Any, ...]] = getattr(self, f"_{kind}")(node)
        moment = PlanStep(action, again, tuple(self.held), tuple(self.stored), self.now_bytes)
        if kind == "back":
            del self.stored[node]
        for piece in let_go:
            self._count(piece, -1)
        return moment

    def _run(self, node: Hashable) -> list[tuple[Any, ...]]:
        if not self.graph[node].inputs:
            raise PlanError("its value is given and cannot be run")
        for each in self.graph[node].inputs:
            if each not in self.held:
                raise PlanError(f"its input {each} is {'on the host' if each in self.on_host else 'not held'}")
        return self._compute(node)

    def _compute(self, node: Hashable) -> list[tuple[Any, ...]]:
        self.runs[node] += 1
        return self._new_value(node)

    def _new_value(self, node: Hashable) -> list[tuple[Any, ...]]:
        """Hold a new value; the pieces to let go of afterwards are those of the old one."""
        old = [self.held.pop(node)] if node in self.held else []
        self.made[node] += 1
        view_of = self.graph[node].view_of
        self.held[node] = (node, self.made[node]) if view_of is None else self.held[view_of]
        self._count(self.held[node], 1)
        return old

    def _store(self, node: Hashable) -> list[tuple[Any, ...]]:
        if node in self.stored or node in self.done:
            raise PlanError("it is stored already" if node in self.stored else "it was propagated back already")
        old = self._run(node)
        pieces = [self.held[each] for each in self.graph[node].needs]
        if self.graph[node].stored_bytes:
            pieces.append((node, self.made[node], "stored"))
        for piece in pieces:
            self._count(piece, 1)
        self.stored[node] = pieces
        return old

    def _back(self, node: Hashable) -> list[tuple[Any, ...]]:
        if node not in self.stored:
            raise PlanError("what it needs is not stored")
        for each in self.consumers[node]:
            if each not in self.done:
                raise PlanError(f"{each}, which takes its value, was not propagated back yet")
        self.done.add(node)
        return self.stored[node]

    def _free(self, node: Hashable) -> list[tuple[Any, ...]]:
        if node not in self.held:
            raise PlanError("its value is not held")
        self._count(self.held.pop(node), -1)
        return []

    def _move(self, node: Hashable) -> list[tuple[Any, ...]]:
        if node not in self.held or self.graph[node].view_of is not None:
            raise PlanError("its value is not held" if node not in self.held else "its value lies in another's memory")
        self.on_host.add(node)
        return [self.held.pop(node)]

    def _fetch(self, node: Hashable) -> list[tuple[Any, ...]]:
        if node not in self.on_host:
            raise PlanError("the host has no copy of its value")
        return self._new_value(node)

    def _count(self, piece: tuple[Any, ...], holders: int) -> None:
        before = self.holders[piece]
        self.holders[piece] = before + holders
        if 0 in (before, before + holders):
            node = self.graph[piece[0]]
            self.now_bytes += holders * (node.stored_bytes if len(piece) == 3 else node.output_bytes)


def play_plan(plan: Plan, graph: Graph) -> Iterator[PlanStep]:
    """Yield what lives during each action.

    Raises:
        PlanError: naming the action that cannot be done, and why; or what is missing at the end.
    """
    player = _Player(graph)
    for number, action in enumerate(plan):
        try:
            yield player.do(action)
        except PlanError as error:
            raise PlanError(f"action {number}, {action}: {error}") from None
    for node in graph:
        if graph[node].inputs and node not in player.done:
            raise PlanError(f"the plan ends, and {node} was never propagated back")


def check_plan(plan: Plan, graph: Graph, budget_bytes: float | None = None) -> None:
    """Return if a plan can be carried out, propagates back through every node once, and fits into the budget.

    Raises:
        PlanError: naming the action and what is wrong with it.
    """
    for number, moment in enumerate(play_plan(plan, graph)):
        if budget_bytes is not None and moment.now_bytes > budget_bytes:
            lives = f"{moment.now_bytes} bytes live, {budget_bytes} are allowed"
            raise PlanError(f"action {number}, {moment.action}: {lives}")


def plan_peak(plan: Plan, graph: Graph) -> int:
    """The most bytes that live at once: values and what is stored, without gradients and parameters.

    >>> from course_lib.checkpointing import Node
    >>> graph = {"x": Node(), "y": Node(inputs=("x",), needs=("x",))}
    >>> plan_peak([Action("store", "y"), Action("free", "y"), Action("back", "y")], graph)
    2
    """
    return max((moment.now_bytes for moment in play_plan(plan, graph)), default=0)


def plan_cost(plan: Plan, graph: Graph) -> float:
    """The time of all forward runs, recomputed ones included; in steps, where each node takes 1."""
    return sum(graph[node].forward_time for kind, node in plan if kind in ("run", "store"))


def plan_moved(plan: Plan, graph: Graph) -> int:
    """The bytes that cross between the device and the host's memory, there and back.

    >>> from course_lib.checkpointing import Node
    >>> plan_moved([Action("move", 0), Action("fetch", 0)], {0: Node(output_bytes=3)})
    6
    """
    return sum(graph[node].output_bytes for kind, node in plan if kind in ("move", "fetch"))
