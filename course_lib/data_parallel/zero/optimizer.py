"""Stage 1 of ZeRO, and what all stages have in common: each rank updates its own shard of every unit of parameters."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import nn

from course_lib.collectives import ring_all_reduce
from course_lib.comm import Communicator
from course_lib.comm.group import mark_part
from course_lib.data_parallel.averaging import pass_weight, refuse_late_weighing, trained_parameters
from course_lib.data_parallel.clipping import shrink, squared_norm
from course_lib.data_parallel.gradient_hooks import GradientHooks, release_hooks
from course_lib.data_parallel.zero.unit import Unit, make_units

# A matrix's rows and columns, one step for all numbers, orthogonal matrices, gradients with gaps.
_WANTS_WHOLE_TENSORS = (torch.optim.Adafactor, torch.optim.LBFGS, torch.optim.Muon, torch.optim.SparseAdam)


class ShardedOptimizer:
    """Stage 1: every rank keeps the optimizer's state for its own shard of the parameters, and updates only that.

    Give every rank the same weights first (`broadcast_state`), then: `zero_grad()`, a backward pass, `step()`. Weights
    are those of unsharded training if the optimizer treats every number by itself, as SGD and Adam do. Those of torch
    that do not are refused; another one that looks at whole tensors (LARS) would see shards. A parameter that got no
    gradient on any rank has one of zeros here: weight decay moves it, which unsharded training does not. One that is
    frozen later stays where it is, as there; but its momentum dies away meanwhile, which matters if it is freed again.

    A step uses the gradients since the step before, also where `module.zero_grad()` or nobody cleared them. What has
    been reduced lies in the shards: the parameters' own gradients then refuse to be read. So clip by `clip_grad_norm_`.
    To shard a module again, or to wrap it by `DataParallel`, ends this one.

    Attributes:
        optimizer: any of torch's, on the shards.
        watch: called with a word whenever the memory changes; `memory_moments` uses it.

    Args:
        make_optimizer: makes it from a list of tensors: `functools.partial(torch.optim.Adam, lr=1e-3)`.
        modules: whose parameters are sharded together; None: the module's children. What is left over is one more.

    Cost: a step sends (p - 1)/p × 2Ψ elements from each of the p ranks, Ψ being the number of parameters.

    Raises:
        ValueError: if no parameter wants a gradient, or the optimizer needs whole tensors.
    """

    keeps_rows = True

    def __init__(
        self,
        comm: Communicator,
        module: nn.Module,
        make_optimizer: Callable[[list[torch.Tensor]], torch.optim.Optimizer],
        modules: Sequence[nn.Module] | None = None,
    ) -> None:
        release_hooks(trained_parameters(module))
        self._comm, self.module = comm, module
        self._share, self._is_reduced = 1 / comm.world_size, False
        self.watch: Callable[[str], None] = lambda moment: None
        self.units = make_units(comm, module, modules, self.keeps_rows)
        if not self.units:
            raise ValueError(
                f"a module to shard must have parameters that want a gradient, {type(module).__name__} has none"
            )
        self.optimizer = _made(make_optimizer, [unit.shard for unit in self.units])
        self._frozen: list[tuple[torch.Tensor, torch.Tensor, torch.Tensor]] = []  # shard, places, numbers
        self.optimizer.register_step_pre_hook(self._keep_frozen)
        self.optimizer.register_step_post_hook(self._mark_step)
        self._hooks = self.hang_hooks([(unit, parameter) for unit in self.units for parameter in unit.parameters])
        self._hooks.weigh()

    def hang_hooks(self, owners: list[tuple[Unit, nn.Parameter]]) -> GradientHooks:
        """Weigh gradients as they come, and mark them as parts: stage 1 does all else in `step`."""
        parameters = [parameter for _, parameter in owners]
        mark = lambda number: mark_part(parameters[number].grad, [self._comm])  # noqa: E731
        return GradientHooks(parameters, mark, self._end_pass, self._weight)

    def _end_pass(self) -> None:
        self._hooks.in_backward = False

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
        self._is_reduced = False
        self.module.zero_grad()
        self.optimizer.zero_grad()

    def step(self) -> None:
        """Reduce the gradients to their owners, update the own shard, and hand the parameters out.

        Raises:
            RuntimeError: as `reduce_gradients` does.
        """
        self.reduce_gradients()
        self.optimizer.step()
        self.publish()
        self.watch("step")

    def clip_grad_norm_(self, max_norm: float) -> float:
        """Scale the gradients so that their norm over all parameters is at most `max_norm`; the norm before.

        Call it between the last backward pass and `step`, in place of `torch.nn.utils.clip_grad_norm_`.

        Cost: one all-reduce of one number.
        """
        self.reduce_gradients()
        gradients = [unit.shard.grad for unit in self.units if unit.shard.grad is not None]
        square = squared_norm(gradients)
        ring_all_reduce(self._comm, square, name="squared norm")
        norm = square.sqrt().item()
        shrink(gradients, norm, max_norm)
        return norm

    def reduce_gradients(self) -> None:
        """Leave in each shard the gradient of the joined batch, once a step.

        Raises:
            RuntimeError: if the module was sharded or wrapped again, or has a parameter that wants a gradient and did
                not, or was another tensor, when it was sharded; if a backward pass came after `clip_grad_norm_`.
        """
        self._refuse_changes()
        self.take_in()
        if not self._is_reduced:
            self.reduce_all()
        elif any(unit.has_gradients for unit in self.units):
            raise RuntimeError("a backward pass came after its gradients were reduced: clip after the last one")

    def reduce_all(self) -> None:
        """Reduce all units; the last layer's goes first, as backward made them."""
        for unit in reversed(self.units):
            self.reduce(unit)
        self._is_reduced = True

    def reduce(self, unit: Unit) -> None:
        """Hand a unit's gradient to its owners."""
        unit.reduce_gradients(1 / self._comm.world_size, self.watch)

    def take_in(self) -> None:
        """Find the values that somebody gave the parameters by `parameter.data = …`."""
        for unit in self.units:
            unit.take_in()

    def publish(self) -> None:
        """Give every rank the parameters that their owners have updated."""
        for unit in self.units:
            unit.gather()

    @contextlib.contextmanager
    def whole(self) -> Iterator[nn.Module]:
        """The module with all its parameters, inside: to save, hash or compare it, or to load a state on every rank."""
        yield self.module

    def _weight(self) -> float:
        return pass_weight(self._share, self._comm.world_size)

    def _keep_frozen(self, *_: Any) -> None:
        """Note what the optimizer must not move, and would by momentum."""
        found = [(unit.shard.detach(), unit.frozen_places()) for unit in self.units]
        self._frozen = [(shard, places, shard[places]) for shard, places in found if places is not None]

    def _mark_step(self, *_: Any) -> None:
        self._is_reduced = False
        for shard, places, numbers in self._frozen:
            shard[places] = numbers
        for unit in self.units:
            unit.has_stepped = True

    def _refuse_changes(self) -> None:
        if self._hooks.released:
            raise RuntimeError("the module was sharded or wrapped again, which ended this one: use the newer one")
        known = {parameter for unit in self.units for parameter in unit.parameters}
        for name, parameter in self.module.named_parameters():
            if parameter.requires_grad and parameter not in known:
                raise RuntimeError(
                    f"{name} wants a gradient, and did not (or was another tensor) when the module was sharded: "
                    "shard it again; load a state with assign=False"
                )


def _made(
    make_optimizer: Callable[[list[torch.Tensor]], torch.optim.Optimizer], shards: list[torch.Tensor]
) -> torch.optim.Optimizer:
    """The optimizer of the shards, if it treats every number by itself."""
    instead = "take one that treats every number by itself, as SGD, AdamW or RMSprop, or DataParallel instead of ZeRO"
    try:
        optimizer = make_optimizer(shards)
    except Exception as error:  # as Muon does, which looks for matrices
        error.add_note(f"(ZeRO gives it shards, which are rows of numbers whatever shape parameters have: {instead})")
        raise
    if isinstance(optimizer, _WANTS_WHOLE_TENSORS):
        kind = type(optimizer).__name__
        raise ValueError(f"{kind} looks at whole tensors and their gradients, and ZeRO gives it shards: {instead}")
    return optimizer
