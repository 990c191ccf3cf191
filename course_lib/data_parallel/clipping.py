"""Gradient clipping where each rank has a part of the gradients: their norm over all ranks, and scaling as in torch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch

from course_lib.collectives import ring_all_reduce
from course_lib.comm import Communicator
from course_lib.comm.group import groups_of, order_of


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
            kinds.setdefault(tuple(groups_of([parameter, parameter.grad])), []).append(parameter.grad)
    total = torch.zeros(1, dtype=torch.float64)
    for groups, gradients in sorted(kinds.items(), key=lambda kind: [order_of(group) for group in kind[0]]):
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
    """Scale gradients of this norm in place to a norm of at most `max_norm`; nan stays nan, as in torch."""
    for gradient in gradients:
        gradient *= min(max_norm / (norm + 1e-6), 1.0)  # in this order nan stays nan, as there
