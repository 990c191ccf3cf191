"""Data or model parallelism for each layer: the plan that moves fewest bytes, with the moves of `HybridNetwork`.

Under "data" every rank has its part of the batch and all weights; under "model" every rank has the whole batch and some
outputs of the layer. Between the two the activations change hands: examples are gathered on the way into a model-split
layer, and their gradients are summed and scattered on the way back. Between two model-split layers each rank needs the
sum of its own features only, so that, too, is a reduce-scatter.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from course_lib.checks import at_least
from course_lib.model_parallel.layers import Shape

__all__ = ["HybridPlan", "choose_splits", "layer_elements", "plan_bytes"]

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
