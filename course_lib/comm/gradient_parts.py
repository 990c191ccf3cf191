"""Gradients of which other ranks have other parts: they say over which ranks they lie, so that these decide as one.

A shard of ZeRO's, a pipeline's stage, a tensor-parallel layer or an expert may overflow on one rank alone. If that rank
skips its step and the others do not, they wait for each other for ever, or one part of the model moves without the
rest. So whoever decides about a step (`precision.unscale`) asks the gradients whom to ask.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch.utils.weak import WeakTensorKeyDictionary

from course_lib.comm.communicator import Communicator

__all__ = ["groups_of", "mark_gradients_of", "mark_part"]

_GROUPS: WeakTensorKeyDictionary = WeakTensorKeyDictionary()  # gradient -> communicators
_HOOKS: WeakTensorKeyDictionary = WeakTensorKeyDictionary()  # parameter -> the hook that marks its gradients


def mark_part(gradient: torch.Tensor | None, groups: Iterable[Communicator]) -> None:
    """Note that each of these groups of ranks has other parts of the gradient."""
    if gradient is None:
        return
    known = _GROUPS.get(gradient, ())
    new = [each for each in groups if all(each is not other for other in known)]
    if new:
        _GROUPS[gradient] = (*known, *new)


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
