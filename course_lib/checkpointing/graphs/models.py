"""Graphs to make plans for: of equal nodes, of real torch models (traced by torch.fx), and three small networks."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

import torch
from torch import fx, nn

from course_lib.checkpointing.measuring import measure_node
from course_lib.checkpointing.plan import Graph, Node
from course_lib.checks import at_least

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


class TracedModel(NamedTuple):
    """A model as a graph, and what computes each of its nodes.

    Attributes:
        graph: for plans; the input is the node "x", whatever the model calls it.
        functions: node -> what computes its value from those of its inputs, for `run_plan`.
    """

    graph: Graph
    functions: dict[Hashable, Callable[..., torch.Tensor]]


def trace_model(model: nn.Module, x: torch.Tensor) -> TracedModel:
    """The graph of a model of one input: a node for each of its layers and for each function between them.

    Layers are torch's own modules (nn.Conv2d, nn.ReLU) and those with `leaf = True`. The model's buffers and the random
    numbers are afterwards as before.

    Raises:
        ValueError: if a node is not a function of values alone, or the model reads a parameter outside of its layers.
    """
    functions: dict[Hashable, Callable[..., torch.Tensor]] = {}
    graph: dict[Hashable, Node] = {"x": Node(output_bytes=x.untyped_storage().nbytes())}
    values: dict[Hashable, torch.Tensor] = {"x": x}
    names: dict[fx.Node, str] = {}
    for node in _Tracer().trace(model).nodes:
        if node.op == "placeholder":
            if names:
                raise ValueError(f"a model of one input is needed; {node.name} is another")
            names[node] = "x"
        elif node.op != "output":
            names[node] = node.name
            function = functions[node.name] = _function_of(node, model)
            inputs: dict[Hashable, torch.Tensor]
            inputs = {names[each]: values[names[each]] for each in node.all_input_nodes}
            measured = measure_node(node.name, function, inputs)
            graph[node.name], values[node.name] = measured.node, measured.output
    return TracedModel(graph, functions)


class _Tracer(fx.Tracer):
    def is_leaf_module(self, module: nn.Module, name: str) -> bool:
        return getattr(module, "leaf", False) or super().is_leaf_module(module, name)


def _function_of(node: fx.Node, model: nn.Module) -> Callable[..., torch.Tensor]:
    """A node's layer, or its function with all arguments that are no values in place."""
    if node.op == "call_module":
        return model.get_submodule(str(node.target))
    if node.op not in ("call_function", "call_method"):
        raise ValueError(f"{node.name} is no layer and no function of values ({node.op} {node.target})")

    def function(*inputs: torch.Tensor) -> torch.Tensor:
        value_of = dict(zip(node.all_input_nodes, inputs, strict=True))

        def fill(argument: Any) -> Any:
            return fx.node.map_arg(argument, value_of.__getitem__)

        args, kwargs = fill(node.args), fill(node.kwargs)
        if node.op == "call_method":
            return getattr(args[0], str(node.target))(*args[1:], **kwargs)
        return node.target(*args, **kwargs)

    return function


def _layers(inputs: int, outputs: int) -> nn.Sequential:
    """A convolution of 3 × 3, batch normalization, and ReLU."""
    convolution = nn.Conv2d(inputs, outputs, 3, padding=1, bias=False)
    return nn.Sequential(convolution, nn.BatchNorm2d(outputs), nn.ReLU())


class Classify(nn.Module):
    """The mean over the picture, and a linear layer; one node of a graph."""

    leaf = True

    def __init__(self, channels: int, classes: int = 10) -> None:
        super().__init__()
        self.linear = nn.Linear(channels, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:  # [batch, channels, height, width] -> [batch, classes]
        return self.linear(x.mean((2, 3)))


class ResidualNet(nn.Module):
    """Blocks of two convolutions around which the value also passes as it is.

    Source: He et al., "Deep residual learning for image recognition", arXiv 1512.03385, section 3.1.
    """

    def __init__(self, blocks: int = 4, channels: int = 8) -> None:
        super().__init__()
        self.stem = _layers(3, channels)
        two = (nn.Sequential(_layers(channels, channels), *_layers(channels, channels)[:2]) for _ in range(blocks))
        self.blocks = nn.ModuleList(two)
        self.activations = nn.ModuleList(nn.ReLU() for _ in range(blocks))
        self.head = Classify(channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.stem(x)
        for block, activation in zip(self.blocks, self.activations, strict=True):
            x = activation(x + block(x))
        return self.head(x)


class UNet(nn.Module):
    """Down to small pictures and up again; each level up also takes what the same level gave on the way down.

    Source: Ronneberger, Fischer and Brox, "U-Net", arXiv 1505.04597.
    """

    def __init__(self, levels: int = 3, channels: int = 8, dropout: float = 0.1) -> None:
        super().__init__()
        widths = [channels * 2**level for level in range(levels + 1)]
        self.down = nn.ModuleList(_layers(*each) for each in zip([3, *widths], widths[:-1], strict=False))
        self.pool = nn.ModuleList(nn.MaxPool2d(2) for _ in range(levels))
        self.bottom = nn.Sequential(_layers(widths[-2], widths[-1]), nn.Dropout(dropout))
        pairs = list(zip(widths[:0:-1], widths[-2::-1], strict=True))
        self.up = nn.ModuleList(nn.ConvTranspose2d(inputs, outputs, 2, stride=2) for inputs, outputs in pairs)
        self.join = nn.ModuleList(_layers(2 * outputs, outputs) for _, outputs in pairs)
        self.head = nn.Conv2d(channels, 1, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        skips = []
        for down, pool in zip(self.down, self.pool, strict=True):
            skips.append(down(x))
            x = pool(skips[-1])
        x = self.bottom(x)
        for up, join in zip(self.up, self.join, strict=True):
            x = join(torch.cat([skips.pop(), up(x)], dim=1))
        return self.head(x)


class DenseNet(nn.Module):
    """Each layer takes the values of all before it, joined.

    Source: Huang et al., "Densely connected convolutional networks", arXiv 1608.06993.
    """

    def __init__(self, layers: int = 5, channels: int = 8) -> None:
        super().__init__()
        self.stem = _layers(3, channels)
        self.layers = nn.ModuleList(_layers(channels * (number + 1), channels) for number in range(layers))
        self.head = Classify(channels * (layers + 1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        values = [self.stem(x)]
        for layer in self.layers:
            values.append(layer(torch.cat(values, dim=1)))
        return self.head(torch.cat(values, dim=1))
