"""ZeRO's three stages. Each shards one thing more, and so moves one thing more out of `step` into the passes.

             forward pass              backward pass                     step
stage 1      ·                         ·                                 reduce all │ update own shard │ gather all
stage 2      ·                         reduce unit by unit                          │ update own shard │ gather all
stage 3      gather and free           gather, reduce and free                      │ update own shard │
             unit by unit              unit by unit

all-reduce                  =  reduce-scatter       +  all-gather
gradients, for everybody       gradients, to owners    gradients, for everybody
with the update in between     gradients, to owners  → update the shard →  parameters, for everybody

Source: Rajbhandari et al., "ZeRO: memory optimizations toward training trillion parameter models", arXiv 1910.02054,
2019, section 5.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

import torch
from torch import nn
from torch.utils._pytree import tree_leaves

from course_lib.data_parallel.gradient_hooks import GradientHooks
from course_lib.data_parallel.zero.optimizer import ShardedOptimizer
from course_lib.data_parallel.zero.unit import USED_OUTSIDE, Unit, UnitHook, gather_before_use


class ShardedGradients(ShardedOptimizer):
    """Stage 2: a unit's gradient goes to its owners as soon as the backward pass has made it, and is freed.

    Units are reduced in one order on all ranks, from the last to the first: one that is complete early waits for those
    after it. So each backward pass communicates, also one that only accumulates gradients; stage 1 sends once, in
    `step`.

    Cost: as for stage 1, and with k accumulated passes (p - 1)/p × (k + 1)Ψ.
    """

    def hang_hooks(self, owners: list[tuple[Unit, nn.Parameter]]) -> GradientHooks:
        """Reduce gradients from within the backward pass."""
        self._unreduced = self.units[::-1]
        self._unit_of = [unit for unit, _ in owners]
        return GradientHooks([p for _, p in owners], self._take, self._end_pass, self._weight, self.make_whole)

    def reduce_all(self) -> None:
        """Nothing is left to do: the backward pass has reduced them."""

    def finish(self) -> None:
        """Reduce what the backward pass left over, zeros where a gradient is missing.

        The backward pass calls it at its end. A rank that has no backward pass to make, or whose backward pass ended
        with an error, must call it itself.
        """
        self._end_pass()

    def make_whole(self) -> None:
        """Called when another takes the module over: the parameters are whole already."""

    def _end_pass(self) -> None:
        while self._unreduced:
            self.reduce(self._unreduced.pop(0))
        self._unreduced, self._hooks.in_backward = self.units[::-1], False
        self.watch("backward")

    def _take(self, number: int) -> None:
        """A parameter's gradient is complete; perhaps with it its unit's."""
        if self._unit_of[number] not in self._unreduced:
            raise RuntimeError(
                f"{self._unit_of[number].name} got a second gradient in one backward pass, after the first was reduced:"
                " with checkpoint(), say use_reentrant=False; after a pass that ended with an error, call finish()"
            )
        while self._unreduced and self._unreduced[0].has_all_gradients:
            self.reduce(self._unreduced.pop(0))


class ShardedParameters(ShardedGradients):
    """Stage 3: a rank has a unit's parameters whole only while it computes with it. Outside they are empty.

    Ranks must call the same units in the same order: a rank without examples calls the module on 0 examples. A unit is
    gathered by the hooks of its own module, so a module of the list must be called in the forward pass.

    Cost: a step sends (p - 1)/p × 3Ψ elements from each of the p ranks: two all-gathers and one reduce-scatter; with k
    accumulated passes 3kΨ.

    Raises:
        ValueError: if a module outside of a unit shares a parameter of it: the unit would free what the other needs.
    """

    keeps_rows = False

    def hang_hooks(self, owners: list[tuple[Unit, nn.Parameter]]) -> GradientHooks:
        """Gather and free units from within both passes."""
        _refuse_shared_parameters(self.units, self.module)
        hooks = super().hang_hooks(owners)
        self._kept: set[Unit] = set()
        self._awaited: set[Unit] = set()  # gone through forward, and not yet backward
        self._doors: dict[Unit, list[AbstractContextManager[Any]]] = {unit: [] for unit in self.units}
        self._handles = []
        for unit in self.units:
            before, after = UnitHook(self._before_forward, unit), UnitHook(self._after_forward, unit)
            self._handles.append(unit.module.register_forward_pre_hook(before))
            self._handles.append(unit.module.register_forward_hook(after, always_call=True))
            for parameter in unit.parameters:
                hook = torch.utils.hooks.unserializable_hook(partial(self._before_gradient, unit))
                self._handles.append(parameter.register_hook(hook))
            unit.free()
        return hooks

    def make_whole(self) -> None:
        """Called when another takes the module over: give it back with all its parameters, and without hooks."""
        for handle in self._handles:
            handle.remove()
        for unit in self.units:
            unit.gather_into(torch.empty_like(unit.row))

    def finish(self) -> None:
        """Do what the other ranks do in the rest of their backward pass: gather units, and reduce zeros.

        A rank that has no backward pass to make, or whose backward pass ended with an error, must call it itself.
        """
        while self._unreduced:
            unit = self._unreduced.pop(0)
            if unit in self._awaited:
                self._gather(unit)
            self.reduce(unit)
        self._end_pass()

    def take_in(self) -> None:
        """Nothing to find: what `whole` shows is taken in at its end."""

    def publish(self) -> None:
        """Nothing is handed out: the next pass gathers what it needs."""
        self._kept.clear()
        for unit in self.units:
            self._free(unit)

    def reduce(self, unit: Unit) -> None:
        """Hand a unit's gradient to its owners, and free the unit: the backward pass is through it."""
        super().reduce(unit)
        self._kept.discard(unit)
        self._free(unit)

    @contextlib.contextmanager
    def whole(self) -> Iterator[nn.Module]:
        """The module with all its parameters, in memory of their own, inside; what is written there stays.

        Give every rank the same values: each keeps its own shard of them.

        Cost: one all-gather for each unit.

        Raises:
            RuntimeError: at its end, if a parameter became another tensor, as by `load_state_dict(assign=True)`.
        """
        for unit in self.units:
            unit.gather_into(torch.empty_like(unit.row))
            self._kept.add(unit)
        try:
            yield self.module
            self._refuse_changes()
        finally:
            for unit in self.units:
                if unit.is_whole:
                    unit.take_in()
            self.publish()

    def _end_pass(self) -> None:
        self._awaited.clear()
        super()._end_pass()

    def _before_forward(self, unit: Unit, *_: Any) -> None:
        self._gather(unit)
        door = gather_before_use(unit, self._gather)
        door.__enter__()
        self._doors[unit].append(door)

    def _after_forward(self, unit: Unit, module: nn.Module, inputs: Any, output: Any) -> None:
        if self._doors[unit]:
            self._doors[unit].pop().__exit__(None, None, None)
        tensors = [each for each in tree_leaves(output) if isinstance(each, torch.Tensor)]
        for tensor in tensors:
            if tensor.requires_grad:
                tensor.register_hook(partial(self._before_backward, unit))
                self._awaited.add(unit)
        if unit not in self._kept:
            if any(torch._C._is_alias_of(tensor, unit.row) for tensor in tensors):
                raise RuntimeError(USED_OUTSIDE)
            self._free(unit)

    def _before_backward(self, unit: Unit, gradient: torch.Tensor) -> None:
        """The hook of a unit's output: the backward pass needs the unit now, also after a forward pass it repeats."""
        self._awaited.discard(unit)
        self._kept.add(unit)
        self._gather(unit)

    def _before_gradient(self, unit: Unit, gradient: torch.Tensor) -> None:
        """A gradient comes for the unit, for which it needed none of its weights: it must meet their shapes."""
        self._gather(unit)

    def _gather(self, unit: Unit) -> None:
        if not unit.is_whole:
            unit.gather()
            self.watch(f"gather {unit.name}")

    def _free(self, unit: Unit) -> None:
        if unit.is_whole:
            unit.free()
            self.watch(f"free {unit.name}")


def _refuse_shared_parameters(units: list[Unit], module: nn.Module) -> None:
    """Each module that has a parameter must lie inside the module by which that parameter's unit is gathered."""
    unit_of = {parameter: unit for unit in units for parameter in unit.parameters}
    covered = {unit: set(unit.module.modules()) for unit in units}
    for name, part in module.named_modules():
        for parameter in part.parameters(recurse=False):
            if parameter in unit_of and part not in covered[unit_of[parameter]]:
                names = f"{unit_of[parameter].name} and {name}"
                raise ValueError(f"units must not share parameters, {names} do: shard them as one unit")


ZERO_STAGES: dict[int, type[ShardedOptimizer]] = {1: ShardedOptimizer, 2: ShardedGradients, 3: ShardedParameters}
