"""Gradients of which other ranks have other parts: they say over which ranks they lie, so that these decide as one.

A shard of ZeRO's, a pipeline's stage, a tensor-parallel layer or an expert may overflow on one rank alone. If that rank
skips its step and the others do not, they wait for each other for ever, or one part of the model moves without the
rest. So whoever decides about a step (`precision.unscale`, `clip_parts_`) asks the gradients whom to ask; torch's own
`GradScaler` and `clip_grad_norm_`, which ask nobody, are refused.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch.utils.weak import WeakTensorKeyDictionary

from course_lib.comm.communicator import Communicator

__all__ = ["PartGradient", "groups_of", "mark_gradients_of", "mark_part", "order_of"]

_GROUPS: WeakTensorKeyDictionary = WeakTensorKeyDictionary()  # gradient -> communicators
_OWNERS: WeakTensorKeyDictionary = WeakTensorKeyDictionary()  # parameter -> communicator
_HOOKS: WeakTensorKeyDictionary = WeakTensorKeyDictionary()  # parameter -> the hook that marks its gradients
_NORMS = {torch._foreach_norm, torch.linalg.vector_norm}
_COPIES = {getattr(torch.Tensor, name) for name in ("clone", "to", "float", "double", "half", "bfloat16", "div", "mul")}


class PartGradient(torch.Tensor):
    """The class of a gradient of which other ranks have other parts.

    A copy of it, in another dtype or times a number, is one too; what else is computed from it is a plain tensor.
    """

    @classmethod
    def __torch_function__(
        cls,
        function: Callable[..., Any],
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """What plain torch makes of it.

        Raises:
            RuntimeError: where torch's own clipping or loss scaling would take this rank's part for all of it.
        """
        if function in _NORMS and sys._getframe(1).f_globals.get("__name__") == "torch.nn.utils.clip_grad":
            raise RuntimeError(f"torch's clip_grad_norm_ {_PART}: {_CLIP}")
        if function is torch._amp_foreach_non_finite_check_and_unscale_:
            raise RuntimeError(f"torch's GradScaler {_PART}: {_UNSCALE}")
        with torch._C.DisableTorchFunctionSubclass():
            result = function(*args, **(kwargs or {}))
            if function in _COPIES:
                mark_part(result, groups_of(each for each in args if isinstance(each, torch.Tensor)))
            return result

    def __repr__(self, **_: Any) -> str:
        return repr(self.detach())

    def __deepcopy__(self, memo: dict[int, Any]) -> torch.Tensor:
        return self.detach().clone()

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.detach().__reduce_ex__(protocol)


_PART = "sees only the part of a gradient that lies on its rank"
_CLIP = "clip by data_parallel.clipping.clip_parts_, ZeRO by sharded.clip_grad_norm_, a mesh by MeshTraining(clip=...)"
_UNSCALE = (
    "ranks would not agree on which steps to skip. Use precision.DynamicScaler, and let all ranks decide by "
    "precision.unscale(gradients, scaler.scale)"
)


def mark_part(gradient: torch.Tensor | None, groups: Iterable[Communicator]) -> None:
    """Note that each of these groups of ranks has other parts of the gradient."""
    if gradient is None:
        return
    known = list(_GROUPS.get(gradient, ()))
    before = len(known)
    for each in groups:
        known += [each] if all(each is not other for other in known) else []
    if len(known) > before:
        _GROUPS[gradient] = tuple(known)
    if type(gradient) is torch.Tensor and any(each.world_size > 1 for each in known):
        gradient.__class__ = PartGradient


def mark_gradients_of(parameters: Iterable[torch.Tensor], comm: Communicator) -> None:
    """Mark each gradient of these parameters, as soon as a backward pass has made it. A later call takes its place.

    Modules call it in each forward pass: a copy of a parameter, or one that is loaded in its place, has no hook.
    """
    if torch.compiler.is_compiling():
        return
    for parameter in parameters:
        if _OWNERS.get(parameter) is not comm:
            _OWNERS[parameter] = comm
            if parameter in _HOOKS:
                _HOOKS.pop(parameter).remove()
        if parameter.requires_grad and parameter not in _HOOKS:
            hook = parameter.register_post_accumulate_grad_hook(lambda each: mark_part(each.grad, [comm]))
            _HOOKS[parameter] = hook


def groups_of(tensors: Iterable[torch.Tensor | None]) -> list[Communicator]:
    """Over which groups of ranks parts of these gradients, or of these parameters' gradients, lie.

    Each once, and in one order on all ranks, so that those who ask several groups do not wait for each other.
    """
    found: list[Communicator] = []
    for tensor in tensors:
        if tensor is not None:
            groups = (*_GROUPS.get(tensor, ()), *([_OWNERS[tensor]] if tensor in _OWNERS else []))
            found += [each for each in groups if all(each is not other for other in found)]
    return sorted(found, key=order_of)


def order_of(comm: Communicator) -> tuple[tuple[int, ...], int]:
    """By what communicators are put in one order on all ranks.

    Groups of one shape come together, as the rows of a mesh before its columns: so what one rank of a row says comes
    to all of its rows and columns.
    """
    ranks = tuple(getattr(comm, "ranks", range(comm.world_size)))
    return tuple(rank - ranks[0] for rank in ranks), ranks[0]
