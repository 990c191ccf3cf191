"""ZeRO, stage 3: a rank owns a shard of the parameters, and has a unit whole only while it computes with it.

forward   gather 0 ▕ unit 0 ▏ free   gather 1 ▕ unit 1 ▏ free
backward  gather 1 ▕ unit 1 ▏ reduce, free   gather 0 ▕ unit 0 ▏ reduce, free
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch
from torch import nn
from torch.utils._pytree import tree_leaves

from course_lib.data_parallel.zero_gradients import ShardedGradients
from course_lib.data_parallel.zero_optimizer import ShardedOptimizer
from course_lib.data_parallel.zero_unit import Unit

__all__ = ["ZERO_STAGES", "ShardedParameters"]


class ShardedParameters(ShardedGradients):
    """Stage 3: as stage 2, with the parameters sharded too. Outside of its passes the module's parameters are empty.

    Ranks must call the same units in the same order: a rank without examples calls the module on 0 examples. A unit is
    gathered by the hooks of its own module, so a module of the list must be called in the forward pass.

    Cost: a step sends (p - 1)/p × 3Ψ elements from each of the p ranks: two all-gathers and one reduce-scatter.

    Raises:
        ValueError: if two units share a parameter: one would free what the other needs.
    """

    _keeps_rows = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        _refuse_shared_parameters(self.units, self.module)
        self._kept: set[Unit] = set()
        for unit in self.units:
            unit.module.register_forward_pre_hook(_UnitHook(self._before_forward, unit))
            unit.module.register_forward_hook(_UnitHook(self._after_forward, unit), always_call=True)
            unit.free()

    def publish(self) -> None:
        """Nothing is handed out: the next pass gathers what it needs."""
        self._kept.clear()
        for unit in self.units:
            self._free(unit)

    @contextlib.contextmanager
    def whole(self) -> Iterator[nn.Module]:
        """The module with all its parameters, in memory of their own, inside. Cost: one all-gather for each unit."""
        for unit in self.units:
            unit.gather_into(torch.empty_like(unit.row))
            self._kept.add(unit)
        try:
            yield self.module
        finally:
            self.publish()

    def _before_forward(self, unit: Unit, *_: Any) -> None:
        self._gather(unit)

    def _after_forward(self, unit: Unit, module: nn.Module, inputs: Any, output: Any) -> None:
        for tensor in tree_leaves(output):
            if isinstance(tensor, torch.Tensor) and tensor.requires_grad:
                tensor.register_hook(partial(self._before_backward, unit))
        if unit not in self._kept:
            self._free(unit)

    def _before_backward(self, unit: Unit, gradient: torch.Tensor) -> None:
        """The hook of a unit's output: the backward pass needs the unit now, also after a forward pass it repeats."""
        self._kept.add(unit)
        self._gather(unit)

    def _reduce(self, unit: Unit) -> None:
        super()._reduce(unit)
        self._kept.discard(unit)
        self._free(unit)

    def _gather(self, unit: Unit) -> None:
        if not unit.is_whole:
            unit.gather()
            self.watch(f"gather {unit.name}")

    def _free(self, unit: Unit) -> None:
        if unit.is_whole:
            unit.free()
            self.watch(f"free {unit.name}")


class _UnitHook:
    """A module's hook that knows its unit. A copy of the module gets one that does nothing: it belongs to no rank."""

    def __init__(self, function: Callable[..., None], unit: Unit) -> None:
        self._function, self._unit = function, unit

    def __call__(self, *args: Any) -> None:
        self._function(self._unit, *args)

    def __reduce__(self) -> tuple:
        return _UnitHook, (_nothing, None)


def _nothing(*_: Any) -> None: ...


def _refuse_shared_parameters(units: list[Unit], module: nn.Module) -> None:
    unit_of = {parameter: unit for unit in units for parameter in unit.parameters}
    for unit in units:
        for parameter in unit.module.parameters(recurse=unit.module is not module):
            if parameter in unit_of and unit_of[parameter] is not unit:
                names = f"{unit_of[parameter].name} and {unit.name}"
                raise ValueError(f"units must not share parameters, {names} do: shard them as one unit")


ZERO_STAGES: dict[int, type[ShardedOptimizer]] = {1: ShardedOptimizer, 2: ShardedGradients, 3: ShardedParameters}
