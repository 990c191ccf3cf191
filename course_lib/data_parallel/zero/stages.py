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
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import torch
from torch import nn
from torch.utils._pytree import tree_leaves

from course_lib.comm import Communicator
from course_lib.data_parallel.averaging import refuse_late_weighing
from course_lib.data_parallel.gradient_hooks import GradientHooks
from course_lib.data_parallel.zero.unit import Unit, UnitHook, make_units

__all__ = ["ZERO_STAGES", "ShardedGradients", "ShardedOptimizer", "ShardedParameters"]


class ShardedOptimizer:
    """Stage 1: every rank keeps the optimizer's state for its own shard of the parameters, and updates only that.

    Give every rank the same weights first (`broadcast_state`), then: `zero_grad()`, a backward pass, `step()`. Weights
    are those of unsharded training if the optimizer treats every number by itself, as SGD and Adam do; one that looks
    at whole tensors (LARS, clipping by norm) would see shards. A parameter that got no gradient on any rank has one of
    zeros here: weight decay moves it, which unsharded training does not.

    Attributes:
        optimizer: any of torch's, on the shards.
        watch: called with a word whenever the memory changes; `memory_moments` uses it.

    Args:
        make_optimizer: makes it from a list of tensors: `functools.partial(torch.optim.Adam, lr=1e-3)`.
        modules: whose parameters are sharded together; None: the module's children. What is left over is one more.

    Cost: a step sends (p - 1)/p × 2Ψ elements from each of the p ranks, Ψ being the number of parameters.
    """

    keeps_rows = True

    def __init__(
        self,
        comm: Communicator,
        module: nn.Module,
        make_optimizer: Callable[[list[torch.Tensor]], torch.optim.Optimizer],
        modules: Sequence[nn.Module] | None = None,
    ) -> None:
        self._comm, self.module = comm, module
        self._share = 1 / comm.world_size
        self.watch: Callable[[str], None] = lambda moment: None
        self.units = make_units(comm, module, modules, self.keeps_rows)
        self.optimizer = make_optimizer([unit.shard for unit in self.units])
        self.prepare()

    def prepare(self) -> None:
        """Stage 1 does all in `step`; the others hang hooks on the passes here."""

    @property
    def share(self) -> float:
        """This rank's part of the batch; as for `DataParallel`."""
        return self._share

    @share.setter
    def share(self, share: float) -> None:
        refuse_late_weighing(self._comm, self.module, share)
        self._share = share

    def zero_grad(self) -> None:
        """Forget all gradients."""
        self.module.zero_grad()
        self.optimizer.zero_grad()

    def step(self) -> None:
        """Reduce the gradients to their owners, update the own shard, and hand the parameters out."""
        self.reduce_gradients()
        self.optimizer.step()
        self.publish()
        self.watch("step")

    def reduce_gradients(self) -> None:
        """Leave in each shard the gradient of the joined batch; the last layer's goes first, as backward made them."""
        for unit in reversed(self.units):
            unit.reduce_gradients(self.share, self.watch)

    def publish(self) -> None:
        """Give every rank the parameters that their owners have updated."""
        for unit in self.units:
            unit.gather()

    @contextlib.contextmanager
    def whole(self) -> Iterator[nn.Module]:
        """The module with all its parameters, inside: to save, hash or compare it."""
        yield self.module


class ShardedGradients(ShardedOptimizer):
    """Stage 2: a unit's gradient goes to its owners as soon as the backward pass has made it, and is freed.

    Units are reduced in one order on all ranks, from the last to the first: one that is complete early waits for those
    after it. So each backward pass communicates, also one that only accumulates gradients; stage 1 sends once, in
    `step`.

    Cost: as for stage 1, and with k accumulated passes (p - 1)/p × (k + 1)Ψ.
    """

    def prepare(self) -> None:
        """Reduce gradients from within the backward pass."""
        self._unreduced = self.units[::-1]
        owners = [(unit, parameter) for unit in self.units for parameter in unit.parameters]
        self._unit_of = [unit for unit, _ in owners]
        self._hooks = GradientHooks([parameter for _, parameter in owners], self._take, self.finish)

    def reduce_gradients(self) -> None:
        """Nothing is left to do: the backward pass has reduced them."""

    def finish(self) -> None:
        """Reduce what the backward pass left over, zeros where a gradient is missing.

        The backward pass calls it at its end. A rank that has no backward pass to make, or whose backward pass ended
        with an error, must call it itself.
        """
        while self._unreduced:
            self.reduce(self._unreduced.pop(0))
        self._unreduced, self._hooks.in_backward = self.units[::-1], False
        self.watch("backward")

    def reduce(self, unit: Unit) -> None:
        """Hand a unit's gradient to its owners."""
        unit.reduce_gradients(self.share, self.watch)

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
        ValueError: if two units share a parameter: one would free what the other needs.
    """

    keeps_rows = False

    def prepare(self) -> None:
        """Gather and free units from within both passes."""
        super().prepare()
        _refuse_shared_parameters(self.units, self.module)
        self._kept: set[Unit] = set()
        for unit in self.units:
            unit.module.register_forward_pre_hook(UnitHook(self._before_forward, unit))
            unit.module.register_forward_hook(UnitHook(self._after_forward, unit), always_call=True)
            unit.free()

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

    def _gather(self, unit: Unit) -> None:
        if not unit.is_whole:
            unit.gather()
            self.watch(f"gather {unit.name}")

    def _free(self, unit: Unit) -> None:
        if unit.is_whole:
            unit.free()
            self.watch(f"free {unit.name}")


def _refuse_shared_parameters(units: list[Unit], module: nn.Module) -> None:
    unit_of = {parameter: unit for unit in units for parameter in unit.parameters}
    for unit in units:
        for parameter in unit.module.parameters(recurse=unit.module is not module):
            if parameter in unit_of and unit_of[parameter] is not unit:
                names = f"{unit_of[parameter].name} and {unit.name}"
                raise ValueError(f"units must not share parameters, {names} do: shard them as one unit")


ZERO_STAGES: dict[int, type[ShardedOptimizer]] = {1: ShardedOptimizer, 2: ShardedGradients, 3: ShardedParameters}
