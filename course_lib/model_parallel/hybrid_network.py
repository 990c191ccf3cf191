"""Data or model parallelism, chosen for each layer: the plan that sends fewest bytes, and the network it trains.

Under "data" every rank has its part of the batch and all weights; under "model" every rank has the whole batch and some
outputs of the layer. Between the two the activations change hands: examples are gathered on the way into a model-split
layer, and their gradients are summed and scattered on the way back. Between two model-split layers each rank needs the
sum of its own features only, so that, too, is a reduce-scatter.

Activations change their layout between layers, and each change has its opposite in the backward pass:

    forward                          backward
    gather the examples              sum the gradients, scatter them by examples
    keep one's own examples          gather the gradients of all examples
    (whole, as it is)                sum the gradients, scatter them by features
    gather the features              keep the gradient of one's own features
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.nn import functional

from course_lib.checks import at_least
from course_lib.collectives import ring_all_reduce
from course_lib.comm import Communicator
from course_lib.model_parallel.layers import Shape
from course_lib.model_parallel.layouts import gather, own_part, scatter_sum

CHOICES = ("data", "model")


class HybridPlan(NamedTuple):
    """A choice for each layer, and the bytes that a rank sends for it in one training step."""

    choices: tuple[str, ...]
    sent_bytes: float


def layer_elements(shape: Shape, choice: str, before: str | None, batch: int, world_size: int) -> float:
    """Numbers that a rank sends for one layer in one step, on a ring; `before` is the choice of the layer before it.

    - data: an all-reduce of the gradients. After a model-split layer nothing else: its gathered output is whole, and of
      the gradients that come back each rank has its own examples, which are gathered.
    - model: the output's parts are gathered for whoever comes next. The gradient of the input is summed and scattered:
      by features to the ranks that own them, or, if the layer before is data parallel, by examples. A data-parallel
      layer before it also has its output gathered. In front of the first layer lies the batch, which everybody can
      read and which needs no gradient.
    """
    share = (world_size - 1) / world_size
    if choice == "data":
        back_to_model = share * batch * shape.input_elements if before == "model" else 0.0
        return 2 * share * shape.parameters + back_to_model
    gathered_output = share * batch * shape.output_elements
    input_gradient = share * batch * shape.input_elements if before else 0.0
    gathered_input = share * batch * shape.input_elements if before == "data" else 0.0
    return gathered_output + input_gradient + gathered_input


def plan_bytes(
    layers: Sequence[Shape], choices: Sequence[str], *, batch: int, world_size: int, element_bytes: int = 4
) -> float:
    """Bytes that a rank sends in one step under this plan; `batch` is that of all ranks together."""
    befores = (None, *choices[:-1])
    return element_bytes * sum(
        layer_elements(shape, choice, before, batch, world_size)
        for shape, choice, before in zip(layers, choices, befores, strict=True)
    )


def choose_splits(layers: Sequence[Shape], *, batch: int, world_size: int, element_bytes: int = 4) -> HybridPlan:
    """The plan that sends fewest bytes by `layer_elements`, found layer by layer: the best that end in each choice.

    >>> from course_lib.model_parallel.layers import ALEXNET
    >>> choose_splits(ALEXNET, batch=1024, world_size=8).choices
    ('data', 'data', 'data', 'data', 'data', 'model', 'model', 'model')
    """
    at_least(1, batch=batch, world_size=world_size)
    best: dict[str | None, HybridPlan] = {None: HybridPlan((), 0.0)}
    for shape in layers:
        longer: dict[str | None, HybridPlan] = {}
        for choice in CHOICES:
            longer[choice] = min(
                (
                    HybridPlan(
                        (*plan.choices, choice),
                        plan.sent_bytes + element_bytes * layer_elements(shape, choice, before, batch, world_size),
                    )
                    for before, plan in best.items()
                ),
                key=lambda plan: plan.sent_bytes,
            )
        best = longer
    return min(best.values(), key=lambda plan: plan.sent_bytes)


Move = Callable[[torch.Tensor], torch.Tensor]


class _Moved(torch.autograd.Function):
    """What `forward` makes of x; gradients go back through `backward`."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, forward: Move, backward: Move) -> torch.Tensor:
        ctx.move = backward
        return forward(x)

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> tuple[torch.Tensor, None, None]:
        return ctx.move(grads[0].contiguous()), None, None


class HybridNetwork(nn.Module):
    """A copy of `network` of which this rank holds data-parallel layers whole and its part of the others.

    Args:
        network: a Sequential; its layers with parameters are `nn.Linear` and `nn.Conv2d`.
        choices: "data" or "model" for each of these, in order. Layers without parameters stay with the one before, and
            may not mix examples or features of different ranks: an element-wise function, a pooling, a flattening.
        batch: examples of all ranks together.

    Raises:
        ValueError: unless there is one choice for each layer with parameters, and each rank gets a channel of the
            convolutions that are split; in `forward`, unless the batch has as many examples as was said.
    """

    def __init__(self, comm: Communicator, network: nn.Sequential, choices: Sequence[str], batch: int) -> None:
        super().__init__()
        self.comm, self.batch = comm, batch
        self.layers = nn.ModuleList(copy.deepcopy(layer) for layer in network)
        weighted = [layer for layer in self.layers if list(layer.parameters())]
        if len(weighted) != len(choices) or not set(choices) <= {"data", "model"}:
            raise ValueError(f"{len(weighted)} layers need as many choices, data or model, got {list(choices)}")
        self.choices = dict(zip(weighted, choices, strict=True))
        self.features = {layer: layer.weight.shape[0] for layer in weighted}
        for layer, choice in self.choices.items():
            if choice == "model":
                if isinstance(layer, nn.Conv2d) and self.features[layer] < comm.world_size:
                    raise ValueError(f"{comm.world_size} ranks cannot share {self.features[layer]} output channels")
                for name, parameter in list(layer.named_parameters()):
                    setattr(layer, name, nn.Parameter(own_part(comm, parameter.detach(), 0)))

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:  # the whole batch -> logits of some or of all examples
        """The logits: of this rank's examples if the last layer is data parallel, of the whole batch otherwise."""
        if len(inputs) != self.batch:
            raise ValueError(f"this network is for batches of {self.batch} examples, got {len(inputs)}")
        x = inputs
        whole = True
        features = 0
        for layer in self.layers:
            choice = self.choices.get(layer)
            if choice == "data" and whole:
                x = _Moved.apply(x, self._own_examples, self._gather_examples)
            elif choice == "model" and not whole:
                x = _Moved.apply(x, self._gather_examples, self._scatter_examples)
            elif choice == "model" and features:
                x = _Moved.apply(x, _same, partial(self._scatter_features, features))
            x = layer(x)
            if choice:
                whole, features = choice == "model", self.features[layer]
            if choice == "model":
                x = _Moved.apply(x, partial(self._gather_features, features), self._own_features)
        return x

    def loss(self, inputs: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """This rank's share of the batch's mean cross-entropy, or all of it where its logits are of all examples."""
        logits = self(inputs)
        mine = labels if len(logits) == len(labels) else self._own_examples(labels)
        return functional.cross_entropy(logits, mine, reduction="sum") / len(labels)

    def sum_gradients(self) -> None:
        """What is left after the backward pass: data-parallel layers sum their gradients over all ranks."""
        for layer, choice in self.choices.items():
            if choice == "data":
                for parameter in layer.parameters():
                    ring_all_reduce(self.comm, parameter.grad)

    def _own_examples(self, x: torch.Tensor) -> torch.Tensor:
        return own_part(self.comm, x, 0)

    def _gather_features(self, number: int, x: torch.Tensor) -> torch.Tensor:
        return gather(self.comm, x, 1, number)

    def _own_features(self, x: torch.Tensor) -> torch.Tensor:
        return own_part(self.comm, x, 1)

    def _gather_examples(self, x: torch.Tensor) -> torch.Tensor:
        return gather(self.comm, x, 0, self.batch)

    def _scatter_examples(self, x: torch.Tensor) -> torch.Tensor:
        return scatter_sum(self.comm, x, 0)

    def _scatter_features(self, number: int, x: torch.Tensor) -> torch.Tensor:
        """The sum where this rank's features lie, of `number` in all, and zeros elsewhere: nobody looks there."""
        by_feature = x.reshape(len(x), number, -1)  # a flattened picture has many numbers a feature
        own = torch.zeros_like(by_feature)
        own.tensor_split(self.comm.world_size, 1)[self.comm.rank].copy_(scatter_sum(self.comm, by_feature, 1))
        return own.view_as(x)


def _same(x: torch.Tensor) -> torch.Tensor:
    return x.view_as(x)
