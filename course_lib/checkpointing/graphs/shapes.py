"""Graphs of equal nodes: every value has one unit of memory and takes one of time; what is given is small."""

from __future__ import annotations

from collections.abc import Hashable

from course_lib.checkpointing.plan import Node

__all__ = ["SHAPES", "chain_shape", "dense_shape", "residual_shape", "tree_shape", "unet_shape"]

Shape = dict[Hashable, Node]


def chain_shape(length: int) -> Shape:
    """Layers 1 to `length`, each of which needs its input to go back.

    >>> chain_shape(2)[2].inputs
    (1,)
    """
    graph: Shape = {0: Node(output_bytes=0)}
    return graph | {node: Node((node - 1,), (node - 1,)) for node in range(1, length + 1)}


def residual_shape(blocks: int) -> Shape:
    """Two layers and a sum in each block; a sum needs nothing to go back.

    >>> residual_shape(2)["sum1"].inputs
    ('b1', 'sum0')
    """
    graph: Shape = {"x": Node(output_bytes=0)}
    for block in range(blocks):
        last, a, b = f"sum{block - 1}" if block else "x", f"a{block}", f"b{block}"
        graph |= {a: Node((last,), (last,)), b: Node((a,), (a,)), f"sum{block}": Node((b, last))}
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


def dense_shape(layers: int) -> Shape:
    """Each layer takes the values of all before it.

    >>> dense_shape(3)[3].inputs
    (0, 1, 2)
    """
    graph: Shape = {0: Node(output_bytes=0)}
    return graph | {node: Node(tuple(range(node)), tuple(range(node))) for node in range(1, layers + 1)}


def tree_shape(depth: int, name: str = "root") -> Shape:
    """A balanced tree: each node takes the values of two; its leaves are given.

    >>> list(tree_shape(1))
    ['root0', 'root1', 'root']
    """
    if depth == 0:
        return {name: Node(output_bytes=0)}
    inputs = f"{name}0", f"{name}1"
    return tree_shape(depth - 1, inputs[0]) | tree_shape(depth - 1, inputs[1]) | {name: Node(inputs, inputs)}


SHAPES = {
    "chain": chain_shape,
    "residual network": residual_shape,
    "U-Net": unet_shape,
    "DenseNet": dense_shape,
    "tree": tree_shape,
}
