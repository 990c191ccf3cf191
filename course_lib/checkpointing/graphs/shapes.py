"""Graphs of equal nodes: every value has one unit of memory and takes one of time; what is given is small."""

from __future__ import annotations

from collections.abc import Hashable

from course_lib.checkpointing.plan import Node
from course_lib.checks import at_least

__all__ = ["SHAPES", "chain_shape", "residual_shape", "tree_shape", "unet_shape"]

Shape = dict[Hashable, Node]


def chain_shape(length: int) -> Shape:
    """Layers 1 to `length`, each of which needs its input to go back.

    >>> chain_shape(2)[2].inputs
    (1,)
    """
    graph: Shape = {0: Node(output_bytes=0)}
    return graph | {node: Node((node - 1,), (node - 1,)) for node in range(1, length + 1)}


def residual_shape(blocks: int) -> Shape:
    """Block i has two layers, "ia" and "ib", and a sum, i, which needs nothing to go back.

    >>> residual_shape(2)[2].inputs
    (1, '2b')
    """
    graph: Shape = {0: Node(output_bytes=0)}
    for block in range(1, blocks + 1):
        a, b = f"{block}a", f"{block}b"
        graph |= {a: Node((block - 1,), (block - 1,)), b: Node((a,), (a,)), block: Node((block - 1, b))}
    return graph


def unet_shape(levels: int) -> Shape:
    """The way down, the bottom, and the way up, where each layer also takes the value of the same level.

    >>> unet_shape(2)["up0"].inputs
    ('up1', 'down0')
    """
    graph: Shape = {"x": Node(output_bytes=0)}
    last = "x"
    for node in [*(f"down{level}" for level in range(levels)), "bottom"]:
        graph[node], last = Node((last,), (last,)), node
    for level in reversed(range(levels)):
        inputs = last, f"down{level}"
        graph[f"up{level}"], last = Node(inputs, inputs), f"up{level}"
    return graph


def tree_shape(depth: int, name: str = "root") -> Shape:
    """A balanced tree: each node takes the values of two; its leaves are given.

    >>> list(tree_shape(1))
    ['root0', 'root1', 'root']
    """
    at_least(0, depth=depth)
    if depth == 0:
        return {name: Node(output_bytes=0)}
    inputs = f"{name}0", f"{name}1"
    return tree_shape(depth - 1, inputs[0]) | tree_shape(depth - 1, inputs[1]) | {name: Node(inputs, inputs)}


SHAPES = {
    "chain": chain_shape,
    "residual network": residual_shape,
    "U-Net": unet_shape,
    "tree": tree_shape,
}
