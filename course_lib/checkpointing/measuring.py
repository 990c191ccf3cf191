"""Measures what a backward pass keeps, tensor by tensor and layer by layer, and counts the operations of a step."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

from course_lib.checkpointing.executor import enter
from course_lib.checkpointing.plan import Node
from course_lib.flops import flops_of
from course_lib.replay import without_trace


class SavedTensor(NamedTuple):
    """A tensor that a layer saves for its backward pass.

    Attributes:
        whose: "input", "output", "parameter" (buffers too), or "own" if it is nobody else's.
        memory: where it lies; equal for tensors that share memory.
        memory_bytes: size of all that lies there.
    """

    whose: str
    shape: tuple[int, ...]
    dtype: torch.dtype
    memory: int
    memory_bytes: int


class Measured(NamedTuple):
    """One training run of a layer: the node that it is in a plan, its value, and what was saved."""

    node: Node
    output: torch.Tensor
    saved: tuple[SavedTensor, ...]

    @property
    def kept_bytes(self) -> int:
        """All that is kept for its backward pass but parameters, each piece of memory once."""
        return sum({each.memory: each.memory_bytes for each in self.saved if each.whose != "parameter"}.values())


def _memory(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage().data_ptr()


def saved_tensors(
    function: Callable[..., Any], inputs: Sequence[torch.Tensor]
) -> tuple[torch.Tensor, tuple[SavedTensor, ...]]:
    """A function's value, and what autograd saves for its backward pass: every tensor, in order.

    >>> _, saved = saved_tensors(nn.Linear(3, 4), [torch.zeros(5, 3, requires_grad=True)])
    >>> [(each.whose, each.shape, each.memory_bytes) for each in saved]
    [('input', (5, 3), 60), ('parameter', (3, 4), 48)]
    """
    seen: list[torch.Tensor] = []

    def see(tensor: torch.Tensor) -> torch.Tensor:
        seen.append(tensor)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(see, lambda tensor: tensor):
        y = function(*inputs)
    owners = {_memory(y): "output"} | {_memory(x): "input" for x in inputs}
    if isinstance(function, nn.Module):
        owners |= {_memory(each): "parameter" for each in (*function.parameters(), *function.buffers())}
    described = (
        SavedTensor(owners.get(place, "own"), tuple(each.shape), each.dtype, place, each.untyped_storage().nbytes())
        for each, place in ((each, _memory(each)) for each in seen)
    )
    return y, tuple(described)


def measure_node(name: Hashable, function: Callable[..., Any], inputs: Mapping[Hashable, torch.Tensor]) -> Measured:
    """Run a function as in training, and describe it as a node of a plan; the run leaves no trace.

    `forward_time` counts operations: those of matrix products and convolutions, and one for each number of the value.

    Args:
        inputs: node -> value, of the nodes whose values it takes, in order. Values that require gradients will there.
    """
    device = next(iter(inputs.values())).device
    entered = [enter(x, lambda _: None) if x.requires_grad else x for x in inputs.values()]
    with without_trace(function, device), torch.enable_grad(), FlopCounterMode(display=False) as operations:
        y, saved = saved_tensors(function, entered)
    places = {_memory(x): each for each, x in inputs.items()}
    view_of = places.get(_memory(y))
    places.setdefault(_memory(y), name)
    own = {each.memory: each.memory_bytes for each in saved if each.whose == "own"}
    needs = {places[each.memory]: None for each in saved if each.memory in places}
    node = Node(
        inputs=tuple(inputs),
        needs=tuple(needs),
        output_bytes=y.untyped_storage().nbytes() if view_of is None else 0,
        stored_bytes=sum(own.values()),
        forward_time=operations.get_total_flops() + y.numel(),
        view_of=view_of,
    )
    return Measured(node, y.detach().requires_grad_(y.requires_grad), saved)


def measure_chain(model: nn.Sequential, x: torch.Tensor) -> list[Measured]:
    """One measurement for each layer of a chain, for an input of this shape; node 0 is the input, the first layer 1."""
    measured: list[Measured] = []
    for number, layer in enumerate(model, 1):
        measured.append(measure_node(number, layer, {number - 1: measured[-1].output if measured else x}))
    return measured


def chain_of(model: nn.Sequential, x: torch.Tensor) -> dict[Hashable, Node]:
    """The graph of a chain of layers, each measured, for an input of this shape.

    >>> chain = chain_of(nn.Sequential(nn.Linear(3, 4), nn.ReLU()), torch.zeros(5, 3))
    >>> [(node.output_bytes, node.needs) for node in chain.values()]
    [(60, ()), (80, (0,)), (80, (2,))]
    """
    given = Node(output_bytes=x.untyped_storage().nbytes())
    return dict(enumerate([given, *(each.node for each in measure_chain(model, x))]))


class CountedOperations(TorchDispatchMode):
    """How many additions and multiplications the products inside take: of matrices, convolutions and attention.

    Attention counts on a processor too, where PyTorch's counter leaves it out. Elementwise operations count as none.

    >>> import torch
    >>> with CountedOperations() as counted:
    ...     y = torch.ones(2, 3) @ torch.ones(3, 4) + 1
    >>> counted.operations
    48
    """

    def __init__(self) -> None:
        super().__init__()
        self.operations = 0

    def __torch_dispatch__(
        self,
        function: Callable[..., Any],
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[Any, Any] | None = None,
    ) -> Any:
        """Do an operation, and count it if it is a product."""
        result = function(*args, **(kwargs or {}))
        flops = flops_of(function, args, kwargs or {}, result)
        self.operations += flops.number if flops.kind == "product" else 0
        return result
