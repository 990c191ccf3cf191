"""Which bits matter: trainings that differ in one flipped bit, side by side."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch

from course_lib.data_parallel.experiments.replicas import replica_gradients, replica_losses, start_replicas
from course_lib.tasks import Digits, digit_batches

__all__ = ["BitEffects", "bit_effects", "flip_bit"]

_SIZES = (64, 32, 10)
_WHERE = ("gradient", "weight")


class BitEffects(NamedTuple):
    """Losses on all training digits, right after the flip and at the end: a number for each bit, and without a flip."""

    after: list[float]
    end: list[float]
    clean_after: float
    clean_end: float


def flip_bit(row: torch.Tensor, element: int, bit: int) -> None:
    """Flip one bit of one float32, in place: 31 is the sign, 30 to 23 the exponent, 22 to 0 the mantissa.

    Raises:
        ValueError: if the numbers are not float32, or there is no such bit.

    >>> row = torch.tensor([1.0, 1.0, 1.0])
    >>> flip_bit(row, 0, 31), flip_bit(row, 1, 22), flip_bit(row, 2, 30)
    (None, None, None)
    >>> row
    tensor([-1.0000,  1.5000,     inf])
    """
    if row.dtype != torch.float32 or not 0 <= bit < 32:
        raise ValueError(f"a bit from 0 to 31 of float32 can flip, got bit {bit} of {row.dtype}")
    mask = torch.tensor(1 << bit, dtype=torch.int64).to(torch.int32)  # bit 31 is the sign of an int32, too
    row.view(-1).view(torch.int32)[element] ^= mask


def bit_effects(
    digits: Digits,
    where: str = "gradient",
    *,
    always: bool = False,
    clip_norm: float = math.inf,
    steps: int = 100,
    at_step: int = 30,
    seed: int = 0,
) -> BitEffects:
    """The losses of 32 trainings, one for each bit, and of one in which no bit flips.

    All see the same batches. In training b, bit b of one number flips: of a gradient after the backward pass, or of a
    weight after the update. The number is drawn from `seed`, in the last layer.

    Args:
        always: the bit flips in every step from `at_step` on, as on a processor that is broken; else once.
        clip_norm: longer gradients are made so long.

    Raises:
        ValueError: if `where` is neither "gradient" nor "weight".
    """
    if where not in _WHERE:
        raise ValueError(f"where must be one of {', '.join(_WHERE)}, got {where!r}")
    parameters = start_replicas(_SIZES, [seed] * 33)
    element = int(torch.randint(_SIZES[1] * _SIZES[2], (1,), generator=torch.Generator().manual_seed(seed)))
    losses: list[list[float]] = []
    batches = digit_batches(32, seed=seed, digits=digits)
    for step in range(steps):
        inputs, labels = (part.expand(33, *part.shape) for part in next(batches))
        gradients = replica_gradients(parameters, inputs, labels)
        struck = step == at_step or (always and step > at_step)
        if struck and where == "gradient":
            _flip_each(gradients[2], element)
        for parameter, gradient in zip(parameters, _clipped(gradients, clip_norm), strict=True):
            parameter -= 0.5 * gradient
        if struck and where == "weight":
            _flip_each(parameters[2], element)
        if step in (at_step, steps - 1):
            losses.append(_losses(parameters, digits))
    after, end = losses[0], losses[-1]
    return BitEffects(after[:32], end[:32], after[32], end[32])


def _losses(parameters: Sequence[torch.Tensor], digits: Digits) -> list[float]:
    """Of each training; what is no number any more counts as infinite."""
    inputs, labels = (part.expand(33, *part.shape) for part in digits[:2])
    return replica_losses(parameters, inputs, labels).nan_to_num(math.inf, math.inf, math.inf).tolist()


def _flip_each(replicas: torch.Tensor, element: int) -> None:
    """Flip bit b in replica b."""
    for bit in range(32):
        flip_bit(replicas[bit], element, bit)


def _clipped(gradients: Sequence[torch.Tensor], clip_norm: float) -> list[torch.Tensor]:
    """Each replica's gradients, scaled so that all of them together are no longer than `clip_norm`."""
    if math.isinf(clip_norm):
        return list(gradients)
    norm = torch.stack([gradient.double().flatten(1).norm(dim=1) for gradient in gradients]).norm(dim=0)
    scale = (clip_norm / norm).clamp(max=1.0).view(-1, 1, 1)
    return [(gradient.double() * scale).float() for gradient in gradients]
