"""A unit: parameters that are sharded together. They lie end to end in one row, of which every rank owns a chunk.

      weight        bias
row   0 1 2 3 4 5 | 6 7         three ranks own 3, 3 and 2 numbers, whatever parameter these belong to
ranks 0 0 0 1 1 1   2 2

While a unit is freed its parameters are `FreedParameter`s: empty, with an error for whoever computes with them. The
weights that autograd saved gather the unit again when the backward pass needs them (`gather_before_use`): hooks on a
unit's outputs do that, too, but a backward pass may begin at an output inside an object that no hook can look into, or
at a loss that a layer keeps to itself. Each way leads to a saved weight in the end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

import torch
from torch import nn

from course_lib.collectives import all_gather, reduce_scatter
from course_lib.comm import Communicator
from course_lib.comm.group import groups_of, mark_part
from course_lib.data_parallel.averaging import scale_gradient, trained_parameters
from course_lib.data_parallel.gradient_hooks import SentGradient

_LOOKS = {torch.Tensor.detach, torch.Tensor.requires_grad_, torch.Tensor.zero_, torch.Tensor.detach_}


class FreedParameter(nn.Parameter):
    """The class of a freed parameter, whose numbers lie in shards: copying it is fine, computing with it an error."""

    @classmethod
    def __torch_function__(
        cls,
        function: Callable[..., Any],
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """What plain torch makes of it, unless that is computed from its numbers.

        Raises:
            RuntimeError: where it is: a sum of no numbers would be 0, and no error.
        """
        name = getattr(function, "__name__", "")
        with torch._C.DisableTorchFunctionSubclass():
            if name in ("__get__", "__set__", "__delete__") or function in _LOOKS:
                return function(*args, **(kwargs or {}))
            try:
                result = function(*args, **(kwargs or {}))
            except RuntimeError as error:
                raise RuntimeError(USED_OUTSIDE) from error
        if isinstance(result, torch.Tensor):
            raise RuntimeError(USED_OUTSIDE)
        return result


USED_OUTSIDE = (
    "a parameter is used outside of the forward pass of its unit, where ZeRO's stage 3 has freed it: compute with it "
    "in the forward method of its own module, shard all that use it as one unit, or read it, without gradients, "
    "inside sharded.whole()"
)


class Unit:
    """One row of parameters, and `shard`, the chunk of this rank with the gradient that belongs to it.

    Attributes:
        parameters: views of the row; empty tensors while the row is freed.
        is_whole: whether this rank has all of the parameters now.
        whole_gradient: the row's gradient, while it is being reduced; None otherwise.
        has_stepped: the optimizer has used the shard's gradient, so that the next one begins anew.

    Raises:
        ValueError: if the parameters are not of one dtype on one device.
    """

    def __init__(
        self, comm: Communicator, name: str, module: nn.Module, parameters: Sequence[nn.Parameter], keeps_row: bool
    ) -> None:
        kinds = {f"{parameter.dtype} on {parameter.device}" for parameter in parameters}
        if len(kinds) != 1:
            raise ValueError(f"parameters sharded together must share dtype and device, {name} has {sorted(kinds)}")
        self.name = name
        self.module = module
        self.parameters = list(parameters)
        self._comm = comm
        self.row = torch.cat([parameter.detach().reshape(-1) for parameter in parameters])
        mine = self.row.tensor_split(comm.world_size)[comm.rank]
        self.shard = mine if keeps_row else mine.clone()
        self.whole_gradient: torch.Tensor | None = None
        self.has_stepped = False
        self._shapes = [parameter.shape for parameter in parameters]
        self._show(self.row)

    @property
    def has_gradients(self) -> bool:
        """True when there is one that was not handed to its owners yet."""
        return not all(parameter.grad is None or _is_sent(parameter) for parameter in self.parameters)

    @property
    def has_all_gradients(self) -> bool:
        """True when the backward pass has completed the gradient of every parameter."""
        return not any(parameter.grad is None or _is_sent(parameter) for parameter in self.parameters)

    def gather(self) -> None:
        """Fill the row with the shards of all ranks. Cost: one all-gather.

        Raises:
            RuntimeError: if somebody gave a freed parameter values.
        """
        if not self.is_whole:
            if any(parameter.numel() for parameter in self.parameters):
                raise RuntimeError(f"{self.name} was given values while it was freed: load inside sharded.whole()")
            self.row.untyped_storage().resize_(self.row.nbytes)
        self.gather_into(self.row)

    def gather_into(self, row: torch.Tensor) -> None:
        """Fill `row` with the shards of all ranks, and make the parameters views of it."""
        all_gather(self._comm, row.tensor_split(self._comm.world_size), self.shard, name=self.name)
        self._show(row)

    def take_in(self) -> None:
        """Move into the row what `parameter.data = …` has put elsewhere, and into the shard what is in its chunk.

        Raises:
            ValueError: if it has another shape, dtype or device than the row.
        """
        for parameter, view in zip(self.parameters, self._views(self._shown), strict=True):
            if parameter.data_ptr() != view.data_ptr():
                kinds = [(tuple(each.shape), each.dtype, each.device) for each in (view, parameter)]
                if kinds[0] != kinds[1]:
                    raise ValueError(f"a parameter of {self.name} must stay {kinds[0]}, got {kinds[1]}: shard it anew")
                view.copy_(parameter.detach())
                parameter.data = view
        mine = self._shown.tensor_split(self._comm.world_size)[self._comm.rank]
        if mine.data_ptr() != self.shard.data_ptr():
            self.shard.detach().copy_(mine)

    def free(self) -> None:
        """Give the row's memory back. What autograd saved of it is right again after the next `gather`."""
        self.row.untyped_storage().resize_(0)
        self.is_whole, self._shown = False, self.row
        for parameter in self.parameters:
            parameter.data = parameter.data.new_empty(0)
            if type(parameter) is nn.Parameter:
                parameter.__class__ = FreedParameter  # an error where somebody uses it, instead of wild numbers

    def reduce_gradients(self, share: float, watch: Callable[[str], None]) -> None:
        """Add to the shard's gradient the sum over all ranks of share × gradient; free the whole gradients.

        The optimizer's step ends a sum, whoever clears gradients and how.

        Cost: one reduce-scatter.
        """
        self.whole_gradient = torch.empty_like(self.row)
        groups = groups_of([*self.parameters, *(parameter.grad for parameter in self.parameters)])
        watch(f"reduce {self.name}")
        for parameter, view in zip(self.parameters, self._views(self.whole_gradient), strict=True):
            parameter.grad = None if _is_sent(parameter) else parameter.grad
            scale_gradient(parameter, share, out=view)
            parameter.grad = SentGradient.of(parameter)
        if self.has_stepped:
            self.shard.grad, self.has_stepped = None, False
        total = torch.empty_like(self.shard)
        reduce_scatter(self._comm, total, self.whole_gradient.tensor_split(self._comm.world_size), name=self.name)
        self.shard.grad = total if self.shard.grad is None else self.shard.grad + total
        mark_part(self.shard.grad, [*groups, self._comm])
        self.whole_gradient = None

    def _show(self, row: torch.Tensor) -> None:
        self.is_whole, self._shown = True, row
        for parameter, view in zip(self.parameters, self._views(row), strict=True):
            if type(parameter) is FreedParameter:
                parameter.__class__ = nn.Parameter
            parameter.data = view

    def frozen_places(self) -> torch.Tensor | None:
        """Which numbers of the shard belong to parameters that want no gradient any more; None if none does."""
        if all(parameter.requires_grad for parameter in self.parameters):
            return None
        pairs = zip(self.parameters, self._shapes, strict=True)
        row = torch.cat([torch.full((shape.numel(),), not each.requires_grad) for each, shape in pairs])
        return row.tensor_split(self._comm.world_size)[self._comm.rank].to(self.shard.device)

    def _views(self, row: torch.Tensor) -> list[torch.Tensor]:
        pieces = row.split([shape.numel() for shape in self._shapes])
        return [piece.view(shape) for piece, shape in zip(pieces, self._shapes, strict=True)]


class UnitHook:
    """A module's hook that knows its unit. A copy of the module gets one that does nothing: it belongs to no rank."""

    def __init__(self, function: Callable[..., None], unit: Unit) -> None:
        self._function, self._unit = function, unit

    def __call__(self, *args: Any) -> None:
        self._function(self._unit, *args)

    def __reduce__(self) -> tuple[Any, ...]:
        return UnitHook, (_nothing, None)


def _nothing(*_: Any) -> None: ...


def _is_sent(parameter: nn.Parameter) -> bool:
    return isinstance(parameter.grad, SentGradient)


def make_units(
    comm: Communicator, module: nn.Module, modules: Sequence[nn.Module] | None, keeps_rows: bool
) -> list[Unit]:
    """The units of a module in the order in which it registered them, what belongs to none of `modules` first.

    Parameters that want no gradient are in no unit: every rank keeps them. A parameter that two modules share is in
    the first one's unit. A module whose parameters are of several dtypes has a unit for each.

    Args:
        modules: None: the module's children, those of a ModuleList or ModuleDict one by one.
    """
    names = {part: name or "root" for name, part in module.named_modules()}
    left = dict.fromkeys(trained_parameters(module))
    units = []
    for part in [*(_children(module) if modules is None else modules), module]:
        taken = [parameter for parameter in trained_parameters(part) if parameter in left]
        for dtype in dict.fromkeys(parameter.dtype for parameter in taken):
            name = names[part] if dtype == taken[0].dtype else f"{names[part]} in {str(dtype).removeprefix('torch.')}"
            units.append(Unit(comm, name, part, [each for each in taken if each.dtype == dtype], keeps_rows))
        for parameter in taken:
            del left[parameter]
    return sorted(units, key=lambda unit: unit.module is not module)


def _children(module: nn.Module) -> list[nn.Module]:
    """The children that are called in a forward pass: in place of a list of modules, its members."""
    found: list[nn.Module] = []
    for child in module.children():
        found += _children(child) if type(child).forward is nn.Module.forward else [child]
    return found


class _Saved(NamedTuple):
    tensor: torch.Tensor
    version: int
    is_weight: bool


def gather_before_use(unit: Unit, gather: Callable[[Unit], None]) -> AbstractContextManager[Any]:
    """Inside `with`, tensors that autograd saves of the unit's row call `gather(unit)` before they are used.

    All else goes to the hooks around (of `checkpoint`, say), or is kept as it is, and must not be changed in place,
    which torch leaves to hooks to see.
    """
    outer = torch._C._autograd._top_saved_tensors_default_hooks(False)

    def pack(tensor: torch.Tensor) -> Any:
        is_weight = _memory(tensor) == _memory(unit.row) != 0
        if outer is not None and not is_weight:
            return outer[0](tensor)
        return _Saved(tensor, tensor._version, is_weight)

    def unpack(saved: Any) -> torch.Tensor:
        if not isinstance(saved, _Saved):
            return outer[1](saved)
        if saved.is_weight:
            gather(unit)
        if saved.tensor._version != saved.version:
            shape, versions = tuple(saved.tensor.shape), f"at version {saved.tensor._version}, saved at {saved.version}"
            raise RuntimeError(
                f"a tensor of shape {shape} that the backward pass of {unit.name} needs was modified by an inplace "
                f"operation: it is {versions}"
            )
        return saved.tensor

    return torch.autograd.graph.saved_tensors_hooks(pack, unpack)


def _memory(tensor: torch.Tensor) -> int:
    """Where it lies; 0 for what has no memory."""
    return tensor.untyped_storage().data_ptr() if tensor.layout == torch.strided and not tensor.is_meta else 0
