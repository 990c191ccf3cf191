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

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

__all__ = [
    "KINDS",
    "Action",
    "Graph",
    "Node",
    "Plan",
    "PlanError",
    "equal_layers",
    "read_plan",
]

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
