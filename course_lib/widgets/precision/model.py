"""What the precision explorer computes: a number and its neighbors, and the fates of gradients at every scale."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple

import torch
from torch import nn

from course_lib.precision import BF16, E4M3, E5M2, FP16, Fates, FloatFormat, activation_gradients
from course_lib.precision.experiments.problems import AUTOENCODER, Problem, digits_classifier
from course_lib.precision.experiments.recipes import FP32_RECIPE, train
from course_lib.tasks import LanguageLSTM, LSTMConfig, next_token_loss, source_tokens, text_batches

__all__ = ["CLICKABLE", "NETWORKS", "PrecisionSetting", "Sorted", "neighbors", "of_network", "sort_gradients"]

CLICKABLE: Mapping[str, FloatFormat] = {each.name: each for each in (FP16, BF16, E4M3, E5M2)}
NETWORKS = ("autoencoder, after 100 steps", "digits network, new", "LSTM on text, new")


class PrecisionSetting(NamedTuple):
    """All that the controls say; `rounded` is the name of a number that is rounded, step by step, or ""."""

    number_format: FloatFormat
    bits: str
    gradients: Sorted
    network: str
    scale: float
    rounded: str = ""
    step: int = 0

    @property
    def fates(self) -> Fates:
        """What becomes of the gradients."""
        return self.gradients.fates(self.number_format, [self.scale])[0]

    @property
    def value(self) -> float:
        """The number that the bits stand for."""
        return self.number_format.decode(int(self.bits, 2)).item()


class Sorted(NamedTuple):
    """Gradients by magnitude, those that are zero counted only: quick to ask at every scale."""

    magnitudes: torch.Tensor  # float64, ascending, none of them 0
    zeros: int

    def fates(self, number_format: FloatFormat, scales: Sequence[float]) -> list[Fates]:
        """What `course_lib.precision.fates` says, for scales that are powers of two."""
        lost, normal, overflow = _edges(number_format)
        by_scale = 1 / torch.tensor(scales, dtype=torch.float64)
        edges = torch.stack([normal * by_scale, overflow * by_scale])
        first = torch.searchsorted(self.magnitudes, lost * by_scale, right=True)[None]
        ends = torch.full_like(first, len(self.magnitudes))
        places = [torch.zeros_like(first), first, torch.searchsorted(self.magnitudes, edges), ends]
        counts = torch.cat(places).diff(dim=0)
        whole = max(self.zeros + len(self.magnitudes), 1)
        return [Fates(self.zeros / whole, *row) for row in (counts / whole).T.tolist()]

    def by_exponent(self, low: int, high: int) -> dict[int, float]:
        """The share of those that are not 0 between 2^e and 2^(e + 1), for e from low to high - 1."""
        edges = 2.0 ** torch.arange(low, high + 1, dtype=torch.float64)
        counts = torch.searchsorted(self.magnitudes, edges).diff().tolist()
        return {low + place: count / max(len(self.magnitudes), 1) for place, count in enumerate(counts)}


@cache
def _edges(number_format: FloatFormat) -> tuple[float, float, float]:
    """Up to where a number becomes 0, from where it is normal, and from where it is too large.

    Ties go to 0 and to the smallest normal number, for both are even.
    """
    smallest, largest = number_format.smallest_subnormal, number_format.largest
    too_large = largest + number_format.spacing(largest).item() / 2
    return smallest / 2, number_format.smallest_normal - smallest / 2, too_large


def sort_gradients(gradients: torch.Tensor) -> Sorted:
    """The gradients as the explorer keeps them.

    Raises:
        ValueError: if there is none, or if one is no finite number.
    """
    magnitudes = gradients.detach().double().abs().flatten()
    if not magnitudes.numel() or not magnitudes.isfinite().all():
        raise ValueError(f"there must be gradients, all of them finite, got {magnitudes.numel()}")
    return Sorted(magnitudes[magnitudes > 0].sort().values, int((magnitudes == 0).sum()))


@cache
def of_network(name: str) -> Sorted:
    """The gradients of all activations of one of NETWORKS, after as many steps in fp32 as its name says."""
    if name == NETWORKS[2]:
        model, (inputs, targets) = LanguageLSTM(LSTMConfig()), next(text_batches(source_tokens(20_000), 16, 32))
        return sort_gradients(activation_gradients(model, lambda: next_token_loss(model(inputs), targets)))
    if name == NETWORKS[0]:
        return _of_problem(AUTOENCODER, train(AUTOENCODER, FP32_RECIPE, 100).model, seed=9)
    return _of_problem(digits_classifier(), digits_classifier().model(0))


def _of_problem(problem: Problem, model: nn.Module, seed: int = 0) -> Sorted:
    inputs, targets = next(problem.batches(seed))
    return sort_gradients(activation_gradients(model, lambda: problem.loss(model(inputs), targets)))


def neighbors(number_format: FloatFormat, value: float) -> tuple[float, float]:
    """The next numbers below and above; a number at the end of the format has an infinity beside it, or itself.

    >>> neighbors(FP16, 2048.0), neighbors(FP16, 0.0) == (-(2**-24), 2**-24)
    ((2047.0, 2050.0), True)
    """
    if math.isnan(value):
        return value, value
    if value < 0:
        below, above = neighbors(number_format, -value)
        return -above, -below
    if value == 0:
        return -number_format.smallest_subnormal, number_format.smallest_subnormal
    code = int(number_format.encode(value))
    last = number_format.largest_code + number_format.infinities
    return number_format.decode(code - 1).item(), number_format.decode(min(code + 1, last)).item()
