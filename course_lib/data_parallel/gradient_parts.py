"""Gradients of which other ranks have other parts: they say over which ranks they lie, so that these decide as one.

A shard of ZeRO's, a pipeline's stage, a tensor-parallel layer or an expert may overflow on one rank alone. If that rank
skips its step and the others do not, they wait for each other for ever, or one part of the model moves without the
rest. So whoever decides about a step (`precision.unscale`) asks the gradients whom to ask.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch
from torch.utils.weak import WeakTensorKeyDictionary

from course_lib.collectives import ring_all_reduce
from course_lib.comm import Communicator

__all__ = ["clip_parts_", "groups_of", "mark_gradients_of", "mark_part", "shrink", "squared_norm"]

_GROUPS: WeakTensorKeyDictionary = WeakTensorKeyDictionary()  # gradient -> communicators
_HOOKS: WeakTensorKeyDictionary = WeakTensorKeyDictionary()  # parameter -> the hook that marks its gradients


def mark_part(gradient: torch.Tensor | None, groups: Iterable[Communicator]) -> None:
    """Note that each of these groups of ranks has other parts of the gradient."""
    if gradient is not None:
        known = _GROUPS.get(gradient, ())
        _GROUPS[gradient] = (*known, *(each for each in groups if all(each is not other for other in known)))


def mark_gradients_of(parameters: Iterable[torch.Tensor], comm: Communicator) -> None:
    """Mark each gradient of these parameters, as soon as a backward pass has made it. A later call takes its place."""
    for parameter in parameters:
        if parameter in _HOOKS:
            _HOOKS.pop(parameter).remove()
        if parameter.requires_grad:
            hook = parameter.register_post_accumulate_grad_hook(lambda each: mark_part(each.grad, [comm]))
            _HOOKS[parameter] = hook


def groups_of(gradients: Iterable[torch.Tensor | None]) -> list[Communicator]:
    """Over which groups of ranks parts of these gradients lie, each once."""
    found: list[Communicator] = []
    for gradient in gradients:
        if gradient is not None:
            found += [each for each in _GROUPS.get(gradient, ()) if all(each is not other for other in found)]
    return found


def clip_parts_(parameters: Iterable[torch.Tensor], max_norm: float) -> float:
    """Scale gradients so that their norm over all ranks' parts is at most `max_norm`; the norm before.

    For a pipeline's stages, tensor-parallel layers and experts, of which `torch.nn.utils.clip_grad_norm_` would see one
    rank's. What all ranks hold alike counts once. (A tied embedding, which a pipeline has twice, would count twice:
    `mesh.clip_gradients` knows it, and ZeRO has a method of its own.) All ranks call it, each with parts of all kinds.

    Cost: one all-reduce of one number for each kind of part and each group of ranks that it lies on.
    """
    kinds: dict[tuple[Communicator, ...], list[torch.Tensor]] = {}
    for parameter in parameters:
        if parameter.grad is not None:
            kinds.setdefault(tuple(groups_of([parameter.grad])), []).append(parameter.grad)
    total = torch.zeros(1, dtype=torch.float64)
    for groups, gradients in sorted(kinds.items(), key=lambda kind: len(kind[0])):
        square = squared_norm(gradients)
        for group in groups:
            ring_all_reduce(group, square, name="squared norm")
        total += square
    norm = total.sqrt().item()
    shrink([gradient for gradients in kinds.values() for gradient in gradients], norm, max_norm)
    return norm


def squared_norm(gradients: Sequence[torch.Tensor]) -> torch.Tensor:
    """The sum of all numbers' squared magnitudes, one element of float64."""
    square = torch.zeros(1, dtype=torch.float64)
    for gradient in gradients:
        real = torch.view_as_real(gradient.resolve_conj()) if gradient.is_complex() else gradient
        square += torch.linalg.vector_norm(real, dtype=torch.float64).cpu() ** 2
    return square


def shrink(gradients: Iterable[torch.Tensor], norm: float, max_norm: float) -> None:
    """Scale gradients of this norm, in place, to one of at most `max_norm`: as torch does, also where it is nan."""
    for gradient in gradients:
        gradient *= min(max_norm / (norm + 1e-6), 1.0)  # in this order nan stays nan, as there
