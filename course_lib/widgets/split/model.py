"""What the split explorer computes: what a rank sends and holds for AlexNet, with a cut for each of its layers."""

from __future__ import annotations

from typing import NamedTuple

from course_lib.model_parallel import ALEXNET, ConvShape, HybridPlan, choose_splits, layer_elements, plan_bytes

__all__ = ["BATCHES", "CUTS", "PARTS", "SplitSetting"]

CUTS = {"by examples": "data", "by outputs": "model"}  # as pages say it -> as `choose_splits` does
BATCHES = (4, 32, 128, 512, 1024, 2048, 3000, 3500, 4096, 8192)
PARTS = ("gradients of weights", "outputs", "gradients of inputs", "changes of the cut")
_ELEMENT_BYTES = 4


class SplitSetting(NamedTuple):
    """All that the controls say: a cut for each layer of AlexNet, one of CUTS' keys, the batch and the ranks."""

    cuts: tuple[str, ...]
    batch: int
    world_size: int

    @property
    def choices(self) -> tuple[str, ...]:
        """The cuts as the library names them."""
        return tuple(CUTS[cut] for cut in self.cuts)

    @property
    def sent_bytes(self) -> float:
        """What a rank sends in a step by this plan."""
        return plan_bytes(ALEXNET, self.choices, batch=self.batch, world_size=self.world_size)

    @property
    def all_examples_bytes(self) -> float:
        """What it would send with all layers by examples."""
        return plan_bytes(ALEXNET, ["data"] * len(ALEXNET), batch=self.batch, world_size=self.world_size)

    @property
    def best(self) -> HybridPlan:
        """The plan of these two cuts that sends least, with all-gathers where the cut changes."""
        return choose_splits(ALEXNET, batch=self.batch, world_size=self.world_size)

    @property
    def held_parameters(self) -> int:
        """Weights and biases of the rank that holds most."""
        held = 0
        for layer, cut in zip(ALEXNET, self.cuts, strict=True):
            outputs = layer.out_channels if isinstance(layer, ConvShape) else layer.outputs
            largest = -(-outputs // self.world_size)
            held += layer.parameters if cut == "by examples" else layer.parameters // outputs * largest
        return held

    @property
    def by_layer(self) -> dict[str, dict[str, float]]:
        """Layer -> part -> bytes that a rank sends; parts that are not there are left out."""
        found = {}
        share = _ELEMENT_BYTES * (self.world_size - 1) / self.world_size * self.batch
        befores = (None, *self.choices[:-1])
        for layer, choice, before in zip(ALEXNET, self.choices, befores, strict=True):
            whole = _ELEMENT_BYTES * layer_elements(layer, choice, before, self.batch, self.world_size)
            changed = before not in (None, choice)
            parts = {"changes of the cut": share * layer.input_elements if changed else 0.0}
            if choice == "model":
                parts["outputs"] = share * layer.output_elements
                parts["gradients of inputs"] = share * layer.input_elements if before else 0.0
            else:
                parts["gradients of weights"] = whole - parts["changes of the cut"]
            found[layer.name] = {part: parts[part] for part in PARTS if parts.get(part)}
        return found
