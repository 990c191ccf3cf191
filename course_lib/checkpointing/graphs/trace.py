"""Real torch models as graphs: torch.fx names the nodes and edges, a run of each node measures its bytes and time."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

import torch
from torch import fx, nn

from course_lib.checkpointing.plan import Graph, Node
from course_lib.checkpointing.saved import measure_node

__all__ = ["TracedModel", "trace_model"]


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
